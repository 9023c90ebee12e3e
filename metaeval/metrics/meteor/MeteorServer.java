import edu.cmu.meteor.aligner.Aligner;
import edu.cmu.meteor.aligner.ParaphraseTransducer;
import edu.cmu.meteor.aligner.Stemmer;
import edu.cmu.meteor.aligner.SynonymDictionary;
import edu.cmu.meteor.scorer.MeteorConfiguration;
import edu.cmu.meteor.scorer.MeteorScorer;
import edu.cmu.meteor.scorer.MeteorStats;
import edu.cmu.meteor.util.Constants;
import edu.cmu.meteor.util.Normalizer;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.StringTokenizer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/**
 * Scores captions with the aligner of meteor-1.5.jar, on several cores, with memory for what the
 * jar's own -stdio mode does again for every pair of captions: normalising, stemming, looking up
 * synonyms, and trying paraphrases whose words are in neither caption.
 *
 * <p>Arguments: the paraphrase table, the number of threads. One line in, one line out, in order:
 *
 * <pre>
 * TEXTS n          the next n lines are captions, kept under numbers from 0 on; answers n, then
 *                  how many words each has
 * KEEP n           forget all captions but the first n; answers n
 * LOAD             load what the captions kept can need of the table; answers its entries
 * SCORES n         the next n lines are numbers: a candidate's, then its references'; answers n,
 *                  then the 23 statistics of each candidate against the best of its references
 * </pre>
 *
 * <p>Why no statistic changes: an entry of the table can match only where all its words stand in
 * the two captions, and two words are synonyms only if both are there; what is left out could not
 * have matched, and the order of the rest, on which the aligner's ties hang, is kept.
 */
public final class MeteorServer {
    private static final int CHUNK = 64; // lines per task: keeps the queue cheap, the cores busy

    private final String path;
    private final int threads;
    private final ExecutorService pool;
    private final Future<MeteorScorer> complete;
    private final ArrayList<Caption> captions = new ArrayList<>();
    private final Vocabulary vocabulary = new Vocabulary();
    private final ConcurrentLinkedQueue<Worker> idle = new ConcurrentLinkedQueue<>();
    private Table table;

    private MeteorServer(String path, int threads) {
        this.path = path;
        this.threads = threads;
        pool = Executors.newFixedThreadPool(threads);
        complete = pool.submit(() -> scorer(0, 1, 2, 3)); // half a second: it reads the synonyms
    }

    public static void main(String[] args) throws Exception {
        PrintStream out =
            new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, "UTF-8");
        System.setOut(System.err); // nothing that the jar prints may come between the replies
        try {
            Memory.install();
            Normalizer.normalizeLine("", Constants.LANG_EN, true); // fills a table: not thread-safe
            new MeteorServer(args[0], Integer.parseInt(args[1])).serve(System.in, out);
            System.exit(0);
        } catch (Throwable error) {
            out.flush();
            error.printStackTrace();
            System.exit(1);
        }
    }

    private void serve(InputStream stream, PrintStream out) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8), 1 << 16);
        for (String line; (line = in.readLine()) != null; out.flush()) {
            String[] request = line.split(" ");
            int n = request.length > 1 ? Integer.parseInt(request[1]) : 0;
            if (request[0].equals("TEXTS")) {
                out.println(n);
                for (Future<List<List<String>>> chunk : each(in, n, MeteorServer::words)) {
                    for (List<String> words : chunk.get()) {
                        captions.add(new Caption(words, vocabulary));
                        out.println(words.size());
                    }
                }
            } else if (request[0].equals("SCORES")) {
                out.println(n);
                for (Future<List<String>> chunk : each(in, n, this::statistics)) {
                    for (String reply : chunk.get()) {
                        out.println(reply);
                    }
                    out.flush();
                }
            } else if (request[0].equals("KEEP")) {
                captions.subList(n, captions.size()).clear();
                out.println(n);
            } else if (request[0].equals("LOAD")) {
                load();
                out.println(table.size);
            } else {
                throw new IllegalArgumentException("unknown request: " + line);
            }
        }
    }

    /** Reads n lines and has the pool turn each into something, a chunk of lines per task. */
    private <T> List<Future<List<T>>> each(BufferedReader in, int n, Function<String, T> work)
        throws IOException {
        List<Future<List<T>>> chunks = new ArrayList<>();
        for (int start = 0; start < n; start += CHUNK) {
            List<String> lines = new ArrayList<>();
            while (lines.size() < CHUNK && start + lines.size() < n) {
                lines.add(in.readLine());
            }
            chunks.add(pool.submit(() -> lines.stream().map(work).collect(Collectors.toList())));
        }
        return chunks;
    }

    /** A caption's words as the jar's scorer sees them under -norm. */
    private static List<String> words(String caption) {
        // -norm changes nothing in lower-case letters, digits and blanks, and is slow
        String normal =
            caption.chars().allMatch(c -> c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == ' ')
                ? caption
                : Normalizer.normalizeLine(caption, Constants.LANG_EN, true).toLowerCase();
        ArrayList<String> words = new ArrayList<>();
        for (StringTokenizer tokens = new StringTokenizer(normal); tokens.hasMoreTokens(); ) {
            words.add(tokens.nextToken());
        }
        return words;
    }

    private String statistics(String line) {
        Worker worker = idle.remove(); // as many as there are threads
        try {
            String[] numbers = line.split(" ");
            List<Caption> references = new ArrayList<>();
            for (int i = 1; i < numbers.length; i++) {
                references.add(captions.get(Integer.parseInt(numbers[i])));
            }
            return worker.score(captions.get(Integer.parseInt(numbers[0])), references);
        } finally {
            idle.add(worker);
        }
    }

    private void load() throws Exception {
        if (table != null && table.words == vocabulary.words.size()) {
            return; // no new word since
        }
        table = null; // two at once would need twice the memory
        idle.clear();
        captions.forEach(caption -> caption.nodes = null);
        table = new Table(path, vocabulary);
        SynonymDictionary all = (SynonymDictionary) get(aligner(complete.get()), "synonyms");
        Synonyms synonyms = new Synonyms(all, vocabulary.words);
        for (int i = 0; i < threads; i++) {
            idle.add(new Worker(complete.get(), table, synonyms));
        }
    }

    /** A scorer of the jar with these stages, default weights and no paraphrase table. */
    private static MeteorScorer scorer(Integer... stages) {
        MeteorConfiguration configuration = new MeteorConfiguration();
        ArrayList<Double> weights = new ArrayList<>();
        for (int stage : stages) {
            weights.add(configuration.getModuleWeights().get(stage));
        }
        configuration.setModules(new ArrayList<>(Arrays.asList(stages)));
        configuration.setModuleWeights(weights);
        configuration.setNormalization(Constants.NORMALIZE_KEEP_PUNCT);
        configuration.setParaFileURL(Memory.NO_TABLE);
        return new MeteorScorer(configuration);
    }

    private static Aligner aligner(MeteorScorer scorer) {
        return (Aligner) get(scorer, "aligner");
    }

    private static Object get(Object owner, String name) {
        try {
            return field(owner, name).get(owner);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("this is not meteor-1.5.jar", error);
        }
    }

    private static void set(Object owner, String name, Object value) {
        try {
            field(owner, name).set(owner, value);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("this is not meteor-1.5.jar", error);
        }
    }

    private static Field field(Object owner, String name) throws ReflectiveOperationException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /** The words of all captions ever seen, numbered. */
    private static final class Vocabulary {
        final HashMap<String, Integer> ids = new HashMap<>();
        final ArrayList<String> words = new ArrayList<>();

        int id(String word) {
            Integer id = ids.putIfAbsent(word, words.size());
            if (id == null) {
                words.add(word);
                return words.size() - 1;
            }
            return id;
        }
    }

    /** A caption's words, and their numbers in the vocabulary. */
    private static final class Caption {
        final ArrayList<String> words = new ArrayList<>();
        final int[] ids;
        volatile int[][] nodes; // the table's phrases that begin at each word, once asked for

        Caption(List<String> spelled, Vocabulary vocabulary) {
            ids = spelled.stream().mapToInt(vocabulary::id).toArray();
            for (int id : ids) {
                words.add(vocabulary.words.get(id)); // one string per word: cheap to compare
            }
        }
    }

    /** What one thread scores with. */
    private static final class Worker {
        private final MeteorScorer full;
        private final MeteorScorer noSynonyms;
        private final Present present;
        private final PairSynonyms synonyms;

        Worker(MeteorScorer complete, Table table, Synonyms synonyms) throws IOException {
            present = new Present(table);
            this.synonyms = new PairSynonyms(synonyms, present);
            full = new MeteorScorer(complete); // shares the lists of function words
            noSynonyms = scorer(0, 1, 3);
            Stemmer stems = new Stems((Stemmer) get(aligner(full), "stemmer"));
            for (MeteorScorer scorer : new MeteorScorer[] {full, noSynonyms}) {
                set(aligner(scorer), "stemmer", stems);
                set(aligner(scorer), "paraphrase", present);
            }
            set(aligner(full), "synonyms", this.synonyms);
        }

        String score(Caption caption, List<Caption> references) {
            MeteorStats best = null;
            for (Caption reference : references) {
                present.only(caption, reference);
                MeteorScorer scorer = synonyms.any(caption) ? full : noSynonyms;
                MeteorStats stats = scorer.getMeteorStats(caption.words, reference.words);
                if (best == null || stats.score > best.score) {
                    best = stats;
                }
            }
            if (best.testStageMatchesContent.size() == 3) { // the synonyms' place is the third
                best.testStageMatchesContent.add(2, 0.0);
                best.referenceStageMatchesContent.add(2, 0.0);
                best.testStageMatchesFunction.add(2, 0.0);
                best.referenceStageMatchesFunction.add(2, 0.0);
            }
            return best.toString();
        }
    }

    /** A stemmer that remembers. */
    private static final class Stems implements Stemmer {
        private final Stemmer stemmer;
        private final HashMap<String, String> known = new HashMap<>();

        Stems(Stemmer stemmer) {
            this.stemmer = stemmer;
        }

        @Override
        public String stem(String word) {
            return known.computeIfAbsent(word, stemmer::stem);
        }
    }

    /** Which words of the vocabulary are synonyms: those whose synsets meet. */
    private static final class Synonyms {
        final int[][] of; // word → its synonyms
        final ArrayList<HashSet<Integer>> pairs = new ArrayList<>(); // word → its pairs' numbers

        Synonyms(SynonymDictionary all, ArrayList<String> words) {
            HashMap<Integer, ArrayList<Integer>> members = new HashMap<>();
            ArrayList<HashSet<Integer>> neighbours = new ArrayList<>();
            for (int id = 0; id < words.size(); id++) {
                HashSet<Integer> synsets = new HashSet<>(all.getSynSets(words.get(id)));
                synsets.addAll(all.getStemSynSets(words.get(id)));
                for (Integer synset : synsets) {
                    members.computeIfAbsent(synset, key -> new ArrayList<>()).add(id);
                }
                neighbours.add(new HashSet<>());
                pairs.add(new HashSet<>());
            }
            int pair = 0;
            for (ArrayList<Integer> synset : members.values()) {
                for (int a : synset) {
                    for (int b : synset) {
                        if (a < b && neighbours.get(a).add(b)) {
                            neighbours.get(b).add(a);
                            pairs.get(a).add(pair);
                            pairs.get(b).add(pair++);
                        }
                    }
                }
            }
            of = new int[words.size()][];
            for (int id = 0; id < of.length; id++) {
                of[id] = neighbours.get(id).stream().mapToInt(Integer::intValue).toArray();
            }
        }
    }

    /**
     * The synonyms as the aligner asks for them. It only looks whether the sets of two different
     * words meet, so a word's set holds the pairs of synonyms that it is one of, and is empty where
     * the two captions at hand have no synonym of it.
     */
    private static final class PairSynonyms extends SynonymDictionary {
        private static final HashSet<Integer> NONE = new HashSet<>();
        private final Synonyms synonyms;
        private final Present present;

        PairSynonyms(Synonyms synonyms, Present present) throws IOException {
            super(Memory.EMPTY, Memory.EMPTY, Memory.EMPTY);
            this.synonyms = synonyms;
            this.present = present;
        }

        boolean any(Caption caption) {
            for (int id : caption.ids) {
                if (any(id)) {
                    return true;
                }
            }
            return false;
        }

        private boolean any(int id) {
            for (int synonym : synonyms.of[id]) {
                if (present.has(synonym)) {
                    return true;
                }
            }
            return false;
        }

        @Override
        public HashSet<Integer> getSynSets(String word) {
            int id = present.translate(word);
            return any(id) ? synonyms.pairs.get(id) : NONE;
        }

        @Override
        public HashSet<Integer> getStemSynSets(String word) {
            return NONE; // in the other set already
        }
    }

    /** The entries of the paraphrase table whose words are all in the vocabulary. */
    private static final class Table {
        final int words;
        int size = 0;
        final HashMap<String, Integer> ids;
        int[] first = new int[1 << 16]; // entry → first word of the second phrase
        int[][] second = new int[1 << 16][]; // entry → second phrase
        final HashMap<Long, Integer> step = new HashMap<>(); // (node, word) → node, from node 0
        final ArrayList<int[]> emits = new ArrayList<>(); // node → how many entries, they
        private Words known; // while reading
        private byte[] last = {}; // the first phrase of the last entry, which often is the next's
        private int lastNode;

        Table(String path, Vocabulary vocabulary) throws IOException {
            words = vocabulary.words.size();
            ids = vocabulary.ids;
            known = new Words(vocabulary.words);
            emits.add(new int[1]);
            InputStream file = new FileInputStream(path);
            try (InputStream in = new Ahead(new GZIPInputStream(file, 1 << 16))) {
                byte[] buffer = new byte[1 << 18];
                int filled = 0;
                for (int read; (read = in.read(buffer, filled, buffer.length - filled)) >= 0; ) {
                    filled += read;
                    int used = entries(buffer, filled);
                    System.arraycopy(buffer, used, buffer, 0, filled - used);
                    filled -= used;
                    if (filled == buffer.length) {
                        throw new IOException(path + " is not a paraphrase table");
                    }
                }
            }
            known = null;
        }

        /** Takes in the whole entries (probability, phrase, phrase: a line each) of the buffer. */
        private int entries(byte[] buffer, int filled) {
            for (int start = 0; ; ) {
                int from = end(buffer, start, filled) + 1;
                int middle = end(buffer, from, filled) + 1;
                int next = end(buffer, middle, filled) + 1;
                if (next > filled) {
                    return start;
                }
                if (!Arrays.equals(last, 0, last.length, buffer, from, middle - 1)) {
                    last = Arrays.copyOfRange(buffer, from, middle - 1);
                    int[] phrase = known.phrase(buffer, from, middle - 1);
                    lastNode = phrase == null ? -1 : node(phrase);
                }
                int[] phrase = lastNode < 0 ? null : known.phrase(buffer, middle, next - 1);
                if (phrase != null) {
                    add(lastNode, phrase);
                }
                start = next;
            }
        }

        private static int end(byte[] buffer, int from, int filled) {
            int at = from;
            while (at < filled && buffer[at] != '\n') {
                at++;
            }
            return at;
        }

        private int node(int[] phrase) {
            int node = 0;
            for (int id : phrase) {
                Integer next = step.putIfAbsent((long) node << 32 | id, emits.size());
                if (next == null) {
                    next = emits.size();
                    emits.add(new int[1]);
                }
                node = next;
            }
            return node;
        }

        /** The nodes of the phrases that begin at each word of a caption, short ones first. */
        int[][] nodes(int[] ids) {
            int[][] nodes = new int[ids.length][];
            int[] path = new int[ids.length];
            for (int from = 0; from < ids.length; from++) {
                int n = 0;
                Integer node = 0;
                for (int at = from; at < ids.length; at++) {
                    node = step.get((long) node << 32 | ids[at]);
                    if (node == null) {
                        break;
                    }
                    path[n++] = node;
                }
                nodes[from] = Arrays.copyOf(path, n);
            }
            return nodes;
        }

        private void add(int node, int[] phrase) {
            if (size == first.length) {
                first = Arrays.copyOf(first, 2 * size);
                second = Arrays.copyOf(second, 2 * size);
            }
            first[size] = phrase.length == 0 ? -1 : phrase[0];
            second[size] = phrase;
            int[] emit = emits.get(node);
            if (++emit[0] == emit.length) {
                emits.set(node, emit = Arrays.copyOf(emit, 2 * emit.length));
            }
            emit[emit[0]] = size++;
        }
    }

    /** The table as the aligner asks for it, less the entries that cannot match in this pair. */
    private static final class Present extends ParaphraseTransducer {
        private final Table table;
        private final int[] mark; // word → last pair that holds it
        private int pair = 0;
        private Caption candidate;
        private Caption reference;
        private int[] entries = new int[64];

        Present(Table table) {
            super(Memory.NO_TABLE);
            this.table = table;
            mark = new int[table.words];
        }

        void only(Caption candidate, Caption reference) {
            this.candidate = candidate;
            this.reference = reference;
            pair++;
            for (int id : candidate.ids) {
                mark[id] = pair;
            }
            for (int id : reference.ids) {
                mark[id] = pair;
            }
        }

        @Override
        public int translate(String word) {
            return table.ids.get(word);
        }

        boolean has(int id) {
            return mark[id] == pair;
        }

        /** Length and number of each entry whose first phrase begins here; short ones first. */
        @Override
        public int[] getReferencePaths(int[] words, int from) {
            Caption caption = Arrays.equals(words, reference.ids) ? reference : candidate;
            int[][] nodes = caption.nodes;
            if (nodes == null) {
                nodes = table.nodes(caption.ids);
                caption.nodes = nodes;
            }
            int n = 0;
            for (int length = 1; length <= nodes[from].length; length++) {
                int[] emit = table.emits.get(nodes[from][length - 1]);
                for (int i = 1; i <= emit[0]; i++) {
                    int entry = emit[i];
                    int first = table.first[entry];
                    if (first >= 0 && (mark[first] != pair || !present(table.second[entry]))) {
                        continue;
                    }
                    if (n + 2 > entries.length) {
                        entries = Arrays.copyOf(entries, 2 * entries.length);
                    }
                    entries[n++] = length;
                    entries[n++] = entry;
                }
            }
            return Arrays.copyOf(entries, n);
        }

        private boolean present(int[] phrase) {
            for (int id : phrase) {
                if (mark[id] != pair) {
                    return false;
                }
            }
            return true;
        }

        @Override
        public int[] getParaphrase(int entry) {
            return table.second[entry];
        }
    }

    /** Words as UTF-8 bytes → their numbers, without making strings of five million lines. */
    private static final class Words {
        private final byte[][] spelled;
        private final int[] slots; // number + 1, 0 where free
        private final int[] hashes;
        private final int[] phrase = new int[256];

        Words(ArrayList<String> words) {
            spelled = new byte[words.size()][];
            slots = new int[Integer.highestOneBit(words.size() + 1) * 4];
            hashes = new int[slots.length];
            for (int id = 0; id < spelled.length; id++) {
                byte[] bytes = words.get(id).getBytes(StandardCharsets.UTF_8);
                spelled[id] = bytes;
                int hash = hash(bytes, 0, bytes.length);
                int slot = hash & slots.length - 1;
                while (slots[slot] != 0) {
                    slot = slot + 1 & slots.length - 1;
                }
                slots[slot] = id + 1;
                hashes[slot] = hash;
            }
        }

        /** The words between two places, parted by white space, or null if one is not known. */
        int[] phrase(byte[] buffer, int from, int to) {
            int n = 0;
            int start = from;
            for (int at = from; at <= to; at++) {
                if (at == to || buffer[at] <= ' ' && buffer[at] >= 0) {
                    if (at > start) {
                        int id = find(buffer, start, at);
                        if (id < 0) {
                            return null;
                        }
                        phrase[n++] = id;
                    }
                    start = at + 1;
                }
            }
            return Arrays.copyOf(phrase, n);
        }

        private int find(byte[] buffer, int from, int to) {
            int hash = hash(buffer, from, to);
            int mask = slots.length - 1;
            for (int slot = hash & mask; slots[slot] != 0; slot = slot + 1 & mask) {
                byte[] word = hashes[slot] == hash ? spelled[slots[slot] - 1] : null;
                if (word != null && Arrays.equals(word, 0, word.length, buffer, from, to)) {
                    return slots[slot] - 1;
                }
            }
            return -1;
        }

        private static int hash(byte[] buffer, int from, int to) {
            int hash = 1;
            for (int at = from; at < to; at++) {
                hash = 31 * hash + buffer[at];
            }
            return hash ^ hash >>> 15;
        }
    }

    /** A stream that another thread reads (and so inflates) ahead of us. */
    private static final class Ahead extends InputStream {
        private static final byte[] END = {};
        private final BlockingQueue<byte[]> blocks = new ArrayBlockingQueue<>(8);
        private final InputStream in;
        private volatile IOException failure;
        private byte[] block = {1};
        private int at = 1;

        Ahead(InputStream in) {
            this.in = in;
            Thread reader = new Thread(this::fill, "inflate");
            reader.setDaemon(true);
            reader.start();
        }

        private void fill() {
            try {
                try {
                    for (byte[] next; (next = in.readNBytes(1 << 17)).length > 0; ) {
                        blocks.put(next);
                    }
                } catch (IOException error) {
                    failure = error;
                }
                blocks.put(END);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public int read(byte[] target, int from, int length) throws IOException {
            try {
                if (at == block.length && block != END) {
                    block = blocks.take();
                    at = 0;
                }
            } catch (InterruptedException error) {
                throw new IOException(error);
            }
            if (block == END) {
                if (failure != null) {
                    throw failure;
                }
                return -1;
            }
            int n = Math.min(length, block.length - at);
            System.arraycopy(block, at, target, from, n);
            at += n;
            return n;
        }

        @Override
        public int read() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }

    /** Empty files, for what the jar insists on reading from a URL and gets in another way. */
    private static final class Memory extends URLStreamHandler {
        static URL EMPTY;
        static URL NO_TABLE;

        static void install() throws IOException {
            URL.setURLStreamHandlerFactory(name -> name.equals("memory") ? new Memory() : null);
            EMPTY = new URL("memory:empty");
            NO_TABLE = new URL("memory:empty.gz");
        }

        @Override
        protected URLConnection openConnection(URL url) {
            return new URLConnection(url) {
                @Override
                public void connect() {}

                @Override
                public InputStream getInputStream() throws IOException {
                    ByteArrayOutputStream content = new ByteArrayOutputStream();
                    if (url.equals(NO_TABLE)) {
                        new GZIPOutputStream(content).close();
                    }
                    return new ByteArrayInputStream(content.toByteArray());
                }
            };
        }
    }
}
