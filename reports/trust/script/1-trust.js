// one use at a time on a narrow screen
(() => {
  const menu = document.getElementById("use"), pick = () => document.querySelectorAll("[data-use]").forEach(
    cell => cell.classList.toggle("picked", cell.dataset.use === menu.value));
  if (!menu) return;
  menu.addEventListener("change", () => {
    pick();
    document.querySelectorAll(".trust").forEach(table => {
      const inside = table.querySelector(".picked"), fold = table.closest("details");
      if (fold) fold.open = Boolean(inside);
    });
  });
  pick();
})();
