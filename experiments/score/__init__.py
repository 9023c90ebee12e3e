"""Any number of captions, scored block by block: `experiment=score captions=FILES`."""
