import edu.cmu.meteor.aligner.Stemmer;
import edu.cmu.meteor.aligner.SynonymDictionary;
import edu.cmu.meteor.scorer.MeteorConfiguration;
import edu.cmu.meteor.util.Constants;
import edu.cmu.meteor.util.Normalizer;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
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

/**
 * Scores captions as meteor-1.5.jar does, on several cores. Normalising, stems, synonyms and weights
 * are the jar's; its alignment is written again here on numbers instead of words, so that nothing is
 * looked up twice and no paraphrase is tried whose words are in neither caption.
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
 * have matched. The order of the rest, on which ties hang, and the steps of the beam search are the
 * jar's.
 */
public final class MeteorServer {
    private static final int CHUNK = 64; // lines per task: keeps the queue cheap, the cores busy

    private final String path;
    private final int threads;
    private final ExecutorService pool;
    private final Future<Knowledge> knowledge;
    private final ArrayList<Caption> captions = new ArrayList<>();
    private final Vocabulary vocabulary = new Vocabulary();
    private final ConcurrentLinkedQueue<Aligner> idle = new ConcurrentLinkedQueue<>();
    private InputStream ahead; // the table, which another thread inflates while captions arrive
    private Table table;

    private MeteorServer(String path, int threads) throws IOException {
        this.path = path;
        this.threads = threads;
        ahead = new Ahead(path);
        pool = Executors.newFixedThreadPool(threads);
        knowledge = pool.submit(Knowledge::new); // it takes a moment to read the synonyms
    }

    public static void main(String[] args) throws Exception {
        PrintStream out =
            new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, "UTF-8");
        System.setOut(System.err); // nothing that the jar prints may come between the replies
        try {
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
        Aligner aligner = idle.remove(); // as many as there are threads
        try {
            String[] numbers = line.split(" ");
            List<Caption> references = new ArrayList<>();
            for (int i = 1; i < numbers.length; i++) {
                references.add(captions.get(Integer.parseInt(numbers[i])));
            }
            int[] best = aligner.best(captions.get(Integer.parseInt(numbers[0])), references);
            return Arrays.stream(best).mapToObj(String::valueOf).collect(Collectors.joining(" "));
        } finally {
            idle.add(aligner);
        }
    }

    private void load() throws Exception {
        if (table != null && table.words == vocabulary.words.size()) {
            return; // no new word since
        }
        table = null; // two at once would need twice the memory
        idle.clear();
        captions.forEach(caption -> caption.nodes = null);
        table = new Table(ahead == null ? new Ahead(path) : ahead, vocabulary);
        ahead = null;
        Facts facts = new Facts(knowledge.get(), vocabulary.words);
        for (int i = 0; i < threads; i++) {
            idle.add(new Aligner(facts, table));
        }
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

    /** The numbers of a caption's words in the vocabulary. */
    private static final class Caption {
        final int[] ids;
        volatile int[][] nodes; // the table's phrases that begin at each word, once asked for

        Caption(List<String> spelled, Vocabulary vocabulary) {
            ids = spelled.stream().mapToInt(vocabulary::id).toArray();
        }
    }

    /** What the jar says of words and pairs of words, and the weights of its score. */
    private static final class Knowledge {
        final SynonymDictionary synonyms;
        final HashSet<String> functionWords = new HashSet<>();
        final Stemmer stemmer = Constants.newStemmer("english");
        final double[] parameters;
        final double[] weights;

        Knowledge() throws IOException {
            String folder = Constants.DEFAULT_SYN_DIR_URL + "/english.";
            URL none = new URL(Constants.DEFAULT_WORD_DIR_URL + "/other.words"); // an empty list
            synonyms =
                new SynonymDictionary(
                    new URL(folder + "exceptions"), new URL(folder + "synsets"), none);
            URL words = Constants.getDefaultWordFileURL(Constants.LANG_EN);
            try (BufferedReader in =
                new BufferedReader(
                    new InputStreamReader(words.openStream(), StandardCharsets.UTF_8))) {
                in.lines().forEach(functionWords::add);
            }
            MeteorConfiguration defaults = new MeteorConfiguration();
            parameters = defaults.getParameters().stream().mapToDouble(x -> x).toArray();
            weights = defaults.getModuleWeights().stream().mapToDouble(x -> x).toArray();
        }
    }

    /** What the words of a vocabulary are compared by; the jar compares words by hash codes. */
    private static final class Facts {
        final int[] keys;
        final int[] stems;
        final boolean[] function;
        final int[][] synonyms; // word → its synonyms: the words that share a synset with it
        final double[] parameters;
        final double[] weights;

        Facts(Knowledge known, ArrayList<String> words) {
            parameters = known.parameters;
            weights = known.weights;
            keys = words.stream().mapToInt(String::hashCode).toArray();
            stems = words.stream().mapToInt(word -> known.stemmer.stem(word).hashCode()).toArray();
            function = new boolean[keys.length];
            HashMap<Integer, ArrayList<Integer>> members = new HashMap<>();
            ArrayList<HashSet<Integer>> neighbours = new ArrayList<>();
            for (int id = 0; id < keys.length; id++) {
                String word = words.get(id);
                function[id] = known.functionWords.contains(word);
                HashSet<Integer> synsets = new HashSet<>(known.synonyms.getSynSets(word));
                synsets.addAll(known.synonyms.getStemSynSets(word));
                for (Integer synset : synsets) {
                    members.computeIfAbsent(synset, key -> new ArrayList<>()).add(id);
                }
                neighbours.add(new HashSet<>());
            }
            for (ArrayList<Integer> synset : members.values()) {
                for (int id : synset) {
                    neighbours.get(id).addAll(synset);
                }
            }
            synonyms = new int[keys.length][];
            for (int id = 0; id < keys.length; id++) {
                synonyms[id] = neighbours.get(id).stream().mapToInt(Integer::intValue).toArray();
            }
        }
    }

    /** Words of the candidate (from `from` on) that match words of the reference. */
    private static final class Match {
        final int stage;
        final int start;
        final int length;
        final int from;
        final int size;

        Match(int stage, int start, int length, int from, int size) {
            this.stage = stage;
            this.start = start;
            this.length = length;
            this.from = from;
            this.size = size;
        }
    }

    /** An alignment up to some word of the reference: a chain of matches, the last one first. */
    private static final class Path implements Comparable<Path> {
        final Path before;
        final Match last;
        final long[] used; // bits of the candidate's words, then of the reference's
        int weight; // matched words of both; those of an exact match whole, others a half
        int chunks;
        int next; // the reference word after the last match
        int end = -1; // the candidate word after the last match; -1 after a gap
        int distance;

        Path(int words) {
            before = null;
            last = null;
            used = new long[(words >> 6) + 1];
        }

        Path(Path other, Match match, int words) {
            before = other;
            last = match;
            used = other.used.clone();
            weight = other.weight;
            chunks = other.chunks;
            end = other.end;
            distance = other.distance;
            use(match, words);
            follow(match);
        }

        @Override
        public int compareTo(Path other) {
            int order = other.weight - weight;
            order = order != 0 ? order : chunks - other.chunks;
            return order != 0 ? order : distance - other.distance;
        }

        boolean uses(int word) {
            return (used[word >> 6] & 1L << word) != 0;
        }

        /** Whether some word of the match is used; the candidate has so many words. */
        boolean uses(Match match, int words) {
            for (int word = words + match.start; word < words + match.start + match.length; word++) {
                if (uses(word)) {
                    return true;
                }
            }
            for (int word = match.from; word < match.from + match.size; word++) {
                if (uses(word)) {
                    return true;
                }
            }
            return false;
        }

        void use(Match match, int words) {
            for (int word = words + match.start; word < words + match.start + match.length; word++) {
                used[word >> 6] |= 1L << word;
            }
            for (int word = match.from; word < match.from + match.size; word++) {
                used[word >> 6] |= 1L << word;
            }
        }

        void follow(Match match) {
            // the jar adds each match to a whole number: a half of a word is lost
            weight += match.stage == 0 ? match.size : match.size / 2;
            weight += match.stage == 0 ? match.length : match.length / 2;
            if (end != -1 && match.from != end) {
                chunks++;
            }
            next = match.start + match.length;
            end = match.from + match.size;
        }

        void gap() {
            if (end != -1) {
                chunks++;
                end = -1;
            }
        }
    }

    /** The alignment of a candidate with a reference as meteor-1.5.jar finds it. */
    private static final class Aligner {
        private static final int BEAM = Constants.DEFAULT_BEAM_SIZE;
        private final Facts facts;
        private final Table table;
        private final int[] mark; // word → last pair whose `to` holds it, see `paraphrases`
        private int marks = 0;
        private Caption candidate;
        private Caption reference;
        private ArrayList<ArrayList<Match>> matches; // of each reference word
        private Match[] chosen; // of each reference word; before the search, those that are sure
        private int[] coveredCandidate; // by how many matches
        private int[] coveredReference;

        Aligner(Facts facts, Table table) {
            this.facts = facts;
            this.table = table;
            mark = new int[facts.keys.length];
        }

        /** The statistics of the candidate against the best of its references. */
        int[] best(Caption candidate, List<Caption> references) {
            int[] best = null;
            double highest = -1;
            for (Caption reference : references) {
                int[] statistics = statistics(candidate, reference);
                double score = score(statistics);
                if (score > highest) {
                    best = statistics;
                    highest = score;
                }
            }
            return best;
        }

        private int[] statistics(Caption candidate, Caption reference) {
            this.candidate = candidate;
            this.reference = reference;
            matches = new ArrayList<>();
            for (int j = 0; j < reference.ids.length; j++) {
                matches.add(new ArrayList<>());
            }
            coveredCandidate = new int[candidate.ids.length];
            coveredReference = new int[reference.ids.length];
            find();
            chosen = new Match[reference.ids.length];
            for (Path path = search(start()); path.last != null; path = path.before) {
                chosen[path.last.start] = path.last;
            }
            int[] statistics = new int[23];
            statistics[0] = candidate.ids.length;
            statistics[1] = reference.ids.length;
            statistics[2] = functionWords(candidate, 0, candidate.ids.length);
            statistics[3] = functionWords(reference, 0, reference.ids.length);
            int end = -1;
            for (int j = 0; j < chosen.length; ) {
                Match match = chosen[j];
                if (match == null) {
                    end = -1;
                    j++;
                    continue;
                }
                int function = functionWords(candidate, match.from, match.size);
                int referenceFunction = functionWords(reference, match.start, match.length);
                int at = 4 + 4 * match.stage;
                statistics[at] += match.size - function;
                statistics[at + 1] += match.length - referenceFunction;
                statistics[at + 2] += function;
                statistics[at + 3] += referenceFunction;
                statistics[20] += match.from == end ? 0 : 1;
                statistics[21] += match.size;
                statistics[22] += match.length;
                j = match.start + match.length;
                end = match.from + match.size;
            }
            return statistics;
        }

        private int functionWords(Caption caption, int from, int size) {
            int n = 0;
            for (int k = from; k < from + size; k++) {
                n += facts.function[caption.ids[k]] ? 1 : 0;
            }
            return n;
        }

        private void find() {
            int[] ours = candidate.ids;
            int[] theirs = reference.ids;
            for (int j = 0; j < theirs.length; j++) {
                for (int i = 0; i < ours.length; i++) {
                    if (facts.keys[ours[i]] == facts.keys[theirs[j]]) {
                        add(new Match(0, j, 1, i, 1));
                    }
                }
            }
            boolean same = ours.length == theirs.length;
            for (int k = 0; same && k < ours.length; k++) {
                same = !differ(k, k);
            }
            if (same) {
                return;
            }
            for (int j = 0; j < theirs.length; j++) {
                for (int i = 0; i < ours.length; i++) {
                    if (facts.stems[ours[i]] == facts.stems[theirs[j]] && differ(i, j)) {
                        add(new Match(1, j, 1, i, 1));
                    }
                }
            }
            mark(reference);
            for (int i = 0; i < ours.length; i++) {
                for (int synonym : facts.synonyms[ours[i]]) {
                    for (int j = 0; mark[synonym] == marks && j < theirs.length; j++) {
                        if (theirs[j] == synonym && differ(i, j)) {
                            add(new Match(2, j, 1, i, 1));
                        }
                    }
                }
            }
            paraphrases(reference, candidate);
            paraphrases(candidate, reference);
        }

        private boolean differ(int i, int j) {
            return facts.keys[candidate.ids[i]] != facts.keys[reference.ids[j]];
        }

        private void add(Match match) {
            matches.get(match.start).add(match);
            for (int k = 0; k < match.size; k++) {
                coveredCandidate[match.from + k]++;
            }
            for (int k = 0; k < match.length; k++) {
                coveredReference[match.start + k]++;
            }
        }

        private void mark(Caption caption) {
            marks++;
            for (int id : caption.ids) {
                mark[id] = marks;
            }
        }

        /** Phrases of one caption that the table knows to be phrases of the other. */
        private void paraphrases(Caption of, Caption to) {
            mark(to);
            int[][] nodes = of.nodes;
            if (nodes == null) {
                nodes = of.nodes = table.nodes(of.ids);
            }
            for (int at = 0; at < nodes.length; at++) {
                for (int length = 1; length <= nodes[at].length; length++) {
                    int[] emit = table.emits.get(nodes[at][length - 1]);
                    for (int k = 1; k <= emit[0]; k += 2) {
                        if (emit[k] < 0 || mark[emit[k]] == marks) {
                            place(of == reference, at, length, to.ids, table.second[emit[k + 1]]);
                        }
                    }
                }
            }
        }

        /** Adds a match wherever the second phrase stands. */
        private void place(boolean ofReference, int at, int length, int[] ids, int[] phrase) {
            for (int i = 0; i < ids.length; i++) {
                int k = 0;
                while (k < phrase.length && i + k < ids.length && ids[i + k] == phrase[k]) {
                    k++;
                }
                if (k == phrase.length) {
                    add(
                        ofReference
                            ? new Match(3, at, length, i, k)
                            : new Match(3, i, k, at, length));
                }
            }
        }

        /** The matches without an alternative. */
        private Path start() {
            Path path = new Path(candidate.ids.length + reference.ids.length);
            for (int j = 0; j < chosen.length; j++) {
                if (matches.get(j).size() == 1 && alone(matches.get(j).get(0))) {
                    chosen[j] = matches.get(j).get(0);
                    path.use(chosen[j], candidate.ids.length);
                }
            }
            return path;
        }

        private boolean alone(Match match) {
            for (int k = 0; k < match.length; k++) {
                if (coveredReference[match.start + k] != 1) {
                    return false;
                }
            }
            for (int k = 0; k < match.size; k++) {
                if (coveredCandidate[match.from + k] != 1) {
                    return false;
                }
            }
            return true;
        }

        /** Beam search from left to right over the words of the reference, as the jar's. */
        private Path search(Path start) {
            ArrayList<Path> paths = new ArrayList<>();
            ArrayList<Path> following = new ArrayList<>();
            paths.add(start);
            for (int current = 0; current < chosen.length; current++) {
                following.clear();
                for (int rank = 0; rank < BEAM && rank < paths.size(); rank++) {
                    extend(paths.get(rank), current, following);
                }
                if (following.isEmpty()) {
                    following.add(paths.get(0));
                }
                if (following.size() > 1) {
                    Collections.sort(following);
                }
                ArrayList<Path> spare = paths;
                paths = following;
                following = spare;
            }
            List<Path> complete = paths.subList(0, Math.min(BEAM, paths.size()));
            complete.forEach(Path::gap); // close the last chunk
            return Collections.min(complete);
        }

        private void extend(Path path, int current, ArrayList<Path> following) {
            int words = candidate.ids.length;
            if (path.uses(words + current)) {
                if (current < path.next) {
                    following.add(path);
                } else if (chosen[path.next] != null) {
                    Match match = chosen[path.next];
                    path.follow(match);
                    path.distance += Math.abs(match.start - match.from);
                    following.add(path);
                }
                return;
            }
            ArrayList<Match> possible = matches.get(current);
            for (int k = 0; k < possible.size(); k++) {
                Match match = possible.get(k);
                if (!path.uses(match, words)) {
                    following.add(new Path(path, match, words));
                    path.distance += Math.abs(match.start - match.from); // the jar's, too
                }
            }
            path.gap();
            path.next++;
            following.add(path);
        }

        private double score(int[] statistics) {
            double[] shares = new double[2]; // of matched words: precision, recall
            double delta = facts.parameters[3];
            for (int side = 0; side < 2; side++) {
                int function = statistics[2 + side];
                double length = delta * (statistics[side] - function) + (1.0 - delta) * function;
                double matched = 0;
                for (int stage = 0; stage < 4; stage++) {
                    matched += statistics[4 + 4 * stage + side] * facts.weights[stage] * delta;
                }
                for (int stage = 0; stage < 4; stage++) {
                    matched +=
                        statistics[6 + 4 * stage + side] * facts.weights[stage] * (1.0 - delta);
                }
                shares[side] = matched / length;
            }
            double alpha = facts.parameters[0];
            double mean = 1.0 / ((1.0 - alpha) / shares[0] + alpha / shares[1]);
            boolean whole =
                statistics[21] == statistics[0]
                    && statistics[22] == statistics[1]
                    && statistics[20] == 1;
            double matches = (double) (statistics[21] + statistics[22]) / 2;
            double fragmentation = whole ? 0 : statistics[20] / matches;
            double penalty = facts.parameters[2] * Math.pow(fragmentation, facts.parameters[1]);
            double score = mean * (1.0 - penalty);
            return Double.isNaN(score) ? 0 : Math.max(score, 0.0);
        }
    }

    /** The entries of the paraphrase table whose words are all in the vocabulary. */
    private static final class Table {
        final int words;
        int size = 0;
        final HashMap<String, Integer> ids;
        int[][] second = new int[1 << 16][]; // entry → second phrase
        final HashMap<Long, Integer> step = new HashMap<>(); // (node, word) → node, from node 0
        // node → how many numbers follow; of each entry the second phrase's first word, the entry
        final ArrayList<int[]> emits = new ArrayList<>();
        private Words known; // while reading
        private byte[] last = {0}; // the first phrase of the last entry, which often is the next's
        private int lastNode;

        Table(InputStream file, Vocabulary vocabulary) throws IOException {
            words = vocabulary.words.size();
            ids = vocabulary.ids;
            known = new Words(vocabulary.words);
            emits.add(new int[1]);
            try (InputStream in = file) {
                byte[] buffer = new byte[1 << 18];
                int filled = 0;
                for (int read; (read = in.read(buffer, filled, buffer.length - filled)) >= 0; ) {
                    filled += read;
                    int used = entries(buffer, filled);
                    System.arraycopy(buffer, used, buffer, 0, filled - used);
                    filled -= used;
                    if (filled == buffer.length) {
                        throw new IOException("this is not a paraphrase table");
                    }
                }
            }
            known = null;
        }

        /** Takes in the whole entries (probability, phrase, phrase: a line each) of the buffer. */
        private int entries(byte[] buffer, int filled) {
            for (int start = 0; ; ) {
                int from = end(buffer, start, filled) + 1;
                int middle = from + last.length;
                if (middle > filled || !Arrays.equals(last, 0, last.length, buffer, from, middle)) {
                    middle = end(buffer, from, filled) + 1;
                    if (middle > filled) {
                        return start;
                    }
                    last = Arrays.copyOfRange(buffer, from, middle);
                    int[] phrase = known.phrase(buffer, from, middle - 1);
                    lastNode = phrase == null ? -1 : node(phrase);
                }
                int next = end(buffer, middle, filled) + 1;
                if (next > filled) {
                    return start;
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
            if (size == second.length) {
                second = Arrays.copyOf(second, 2 * size);
            }
            second[size] = phrase;
            int[] emit = emits.get(node);
            int used = emit[0] + 2;
            if (used >= emit.length) {
                emits.set(node, emit = Arrays.copyOf(emit, 2 * used + 1));
            }
            emit[0] = used;
            emit[used - 1] = phrase.length == 0 ? -1 : phrase[0];
            emit[used] = size++;
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
                int hash = Arrays.hashCode(bytes);
                int slot = slot(hash) & slots.length - 1;
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
            int hash = 1;
            for (int at = from; at <= to; at++) {
                if (at == to || buffer[at] <= ' ' && buffer[at] >= 0) {
                    if (at > start) {
                        int id = find(buffer, start, at, hash);
                        if (id < 0) {
                            return null;
                        }
                        phrase[n++] = id;
                    }
                    start = at + 1;
                    hash = 1;
                } else {
                    hash = 31 * hash + buffer[at];
                }
            }
            return Arrays.copyOf(phrase, n);
        }

        private int find(byte[] buffer, int from, int to, int hash) {
            int mask = slots.length - 1;
            for (int slot = slot(hash) & mask; slots[slot] != 0; slot = slot + 1 & mask) {
                byte[] word = hashes[slot] == hash ? spelled[slots[slot] - 1] : null;
                if (word != null && Arrays.equals(word, 0, word.length, buffer, from, to)) {
                    return slots[slot] - 1;
                }
            }
            return -1;
        }

        private static int slot(int hash) {
            return hash ^ hash >>> 15;
        }
    }

    /** A compressed file that another thread inflates ahead of us, by 64 MiB at most. */
    private static final class Ahead extends InputStream {
        private static final byte[] END = {};
        private static final int BLOCK = 1 << 17;
        private final BlockingQueue<byte[]> blocks = new ArrayBlockingQueue<>(512);
        private final InputStream in;
        private volatile IOException failure;
        private byte[] block = {1};
        private int at = 1;

        Ahead(String path) throws IOException {
            in = new GZIPInputStream(new FileInputStream(path), 1 << 16);
            Thread reader = new Thread(this::fill, "inflate");
            reader.setDaemon(true);
            reader.start();
        }

        private void fill() {
            try {
                try {
                    for (int n = BLOCK; n == BLOCK; ) {
                        byte[] next = new byte[BLOCK];
                        n = in.readNBytes(next, 0, BLOCK); // straight into it
                        blocks.put(n == BLOCK ? next : Arrays.copyOf(next, n));
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
}
