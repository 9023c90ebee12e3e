import edu.anu.spice.SpiceParser;
import edu.stanford.nlp.ling.CoreAnnotations;
import edu.stanford.nlp.ling.CoreLabel;
import edu.stanford.nlp.parser.common.ParserGrammar;
import edu.stanford.nlp.parser.common.ParserQuery;
import edu.stanford.nlp.parser.lexparser.LexicalizedParser;
import edu.stanford.nlp.pipeline.Annotation;
import edu.stanford.nlp.pipeline.MorphaAnnotator;
import edu.stanford.nlp.pipeline.ParserAnnotator;
import edu.stanford.nlp.pipeline.ParserAnnotatorUtils;
import edu.stanford.nlp.pipeline.StanfordCoreNLP;
import edu.stanford.nlp.semgraph.SemanticGraphCoreAnnotations;
import edu.stanford.nlp.semgraph.SemanticGraphFactory;
import edu.stanford.nlp.trees.GrammaticalStructure.Extras;
import edu.stanford.nlp.trees.GrammaticalStructureFactory;
import edu.stanford.nlp.trees.Tree;
import edu.stanford.nlp.trees.TreeCoreAnnotations;
import edu.stanford.nlp.trees.Trees;
import edu.stanford.nlp.util.CoreMap;
import edu.stanford.nlp.util.Filters;
import edu.stanford.nlp.util.ScoredObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.json.simple.JSONObject;
import org.json.simple.JSONValue;

/**
 * Sentences in, SPICE's proposed tuples out, by SPICE's own parser; the models are loaded once.
 *
 * <p>Each line of standard input is a sentence as a JSON string. Each line of standard output
 * answers the line at its place: a JSON array of tuples (arrays of 1 to 3 strings, in the order in
 * which SPICE would put them into a graph), or {"error": "why this sentence has none"}. It ends
 * when its standard input does, at once, so it cannot outlive the process that asks.
 *
 * <p>Arguments: the number of threads, and the seconds that one sentence may take.
 *
 * <p>Left out of SPICE's pipeline: named entities. No rule of the parser reads them, and their
 * three models take most of the time to start. Of the parser's own work, what no rule reads: see
 * {@link OneGraphParser}.
 */
public final class SceneGraphService extends SpiceParser {
  /**
   * CoreNLP's parser without what SPICE does not read: the original derives three graphs, each with
   * all its patterns over the tree, of which SPICE reads one, and allocates a chart a sentence.
   *
   * <p>The best tree comes from the list of the k best, as in the original. To read it from the
   * chart would save another quarter of the time, but rounds otherwise: one sentence in some
   * hundred, where two trees are as good, would have the other.
   */
  private static final class OneGraphParser extends ParserAnnotator {
    /** A longer sentence has a chart of its own, which is not kept: it can take a gigabyte. */
    private static final int KEPT_LENGTH = 40;

    private final ParserGrammar grammar;
    private final GrammaticalStructureFactory structures;
    private final ThreadLocal<ParserQuery> queries;

    OneGraphParser(ParserGrammar grammar) {
      super(grammar, false, -1);
      this.grammar = grammar;
      structures =
          grammar
              .treebankLanguagePack()
              .grammaticalStructureFactory(
                  Filters.acceptFilter(), grammar.getTLPParams().typedDependencyHeadFinder());
      queries = ThreadLocal.withInitial(grammar::parserQuery);
    }

    @Override
    protected void doOneSentence(Annotation annotation, CoreMap sentence) {
      List<CoreLabel> words = sentence.get(CoreAnnotations.TokensAnnotation.class);
      ParserQuery query = words.size() > KEPT_LENGTH ? grammar.parserQuery() : queries.get();
      query.setConstraints(null);
      List<ScoredObject<Tree>> trees = query.parse(words) ? query.getKBestPCFGParses(1) : null;
      if (trees == null || trees.isEmpty()) {
        queries.remove();
        doOneFailedSentence(annotation, sentence);
        return;
      }
      Tree tree = trees.get(0).object();
      Trees.convertToCoreLabels(tree);
      tree.indexSpans(0);
      sentence.set(TreeCoreAnnotations.TreeAnnotation.class, tree);
      ParserAnnotatorUtils.setMissingTags(sentence, tree);
      sentence.set(
          SemanticGraphCoreAnnotations.CollapsedCCProcessedDependenciesAnnotation.class,
          SemanticGraphFactory.generateCCProcessedDependencies(
              structures.newGrammaticalStructure(tree), Extras.NONE));
    }
  }

  private static final class Job {
    final String sentence;
    final CompletableFuture<String> reply = new CompletableFuture<>();
    volatile long startedAt = 0;

    Job(String sentence) {
      this.sentence = sentence;
    }
  }

  private final StanfordCoreNLP pipeline;
  private final BlockingQueue<Job> waiting = new LinkedBlockingQueue<>();
  private final BlockingQueue<Job> inOrder = new ArrayBlockingQueue<>(4096);
  private final ThreadLocal<Boolean> outOfMemory = ThreadLocal.withInitial(() -> false);
  private final long limit;

  private SceneGraphService(int threads, double seconds) {
    super(null, 1, true);
    limit = (long) (seconds * 1e9);
    watchForLostParses();
    Properties properties = new Properties();
    properties.setProperty("annotators", "tokenize,ssplit");
    pipeline = new StanfordCoreNLP(properties);
    ParserGrammar grammar = ParserGrammar.loadModel(LexicalizedParser.DEFAULT_PARSER_LOC);
    grammar.setOptionFlags(grammar.defaultCoreNLPFlags());
    pipeline.addAnnotator(new OneGraphParser(grammar));
    pipeline.addAnnotator(new MorphaAnnotator(false));
    warmUp();
    for (int i = 0; i < threads; i++) {
      startWorker();
    }
  }

  /**
   * Parse one sentence before any that counts: a class whose first use fails for lack of memory
   * stays unusable, so that has to happen here, where it ends the service, or not at all.
   */
  private void warmUp() {
    Annotation annotation = new Annotation("A dog sits on a chair.");
    pipeline.annotate(annotation);
    parseAnnotation(annotation);
    if (outOfMemory.get()) {
      throw new OutOfMemoryError("the heap is too small for the parser");
    }
  }

  /** CoreNLP prints a line and goes on with an empty parse when memory runs out: hear that line. */
  private void watchForLostParses() {
    PrintStream stderr = System.err;
    System.setErr(
        new PrintStream(stderr, true) {
          @Override
          public void println(String line) {
            if (line != null && (line.contains("of memory") || line.contains("create arrays"))) {
              outOfMemory.set(true);
            }
            super.println(line);
          }
        });
  }

  private void startWorker() {
    Thread worker =
        new Thread(
            () -> {
              try {
                while (true) {
                  Job job = waiting.take();
                  job.startedAt = System.nanoTime();
                  if (!job.reply.complete(tuples(job.sentence))) {
                    return; // given up meanwhile: another worker stands in for this one
                  }
                }
              } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
              }
            });
    worker.setDaemon(true);
    worker.start();
  }

  private String tuples(String sentence) {
    outOfMemory.set(false);
    try {
      Annotation annotation = new Annotation(sentence);
      pipeline.annotate(annotation);
      String json = JSONValue.toJSONString(parseAnnotation(annotation).tuples);
      return outOfMemory.get() ? error("the parser ran out of memory") : json;
    } catch (OutOfMemoryError full) {
      return error("the parser ran out of memory");
    } catch (Throwable problem) {
      return error(problem.toString());
    }
  }

  private static String error(String why) {
    return "{\"error\":\"" + JSONObject.escape(why) + "\"}";
  }

  private void write(PrintStream out) {
    try {
      while (true) {
        Job job = inOrder.take();
        out.print(await(job));
        out.print('\n');
        out.flush();
      }
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
  }

  private String await(Job job) throws InterruptedException {
    while (true) {
      try {
        return job.reply.get(200, TimeUnit.MILLISECONDS);
      } catch (TimeoutException notYet) {
        boolean late = job.startedAt != 0 && System.nanoTime() - job.startedAt > limit;
        if (late && job.reply.complete(error("the parser was not done in time"))) {
          startWorker();
        }
      } catch (ExecutionException impossible) {
        return error(impossible.toString());
      }
    }
  }

  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    System.setOut(new PrintStream(OutputStream.nullOutputStream())); // a library's chatter
    // The reader must run before the models are loaded, to see at once that nobody is there.
    BlockingQueue<Job> early = new LinkedBlockingQueue<>();
    Thread reader = new Thread(() -> read(early));
    reader.setDaemon(true);
    reader.start();
    SceneGraphService service =
        new SceneGraphService(Integer.parseInt(args[0]), Double.parseDouble(args[1]));
    Thread writer = new Thread(() -> service.write(out));
    writer.start();
    try {
      while (true) {
        Job job = early.take();
        service.inOrder.put(job);
        service.waiting.put(job);
      }
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
  }

  private static void read(BlockingQueue<Job> jobs) {
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        jobs.put(new Job((String) JSONValue.parse(line)));
      }
    } catch (IOException | InterruptedException gone) {
      // fall through: without its asker the service has no purpose
    }
    Runtime.getRuntime().halt(0);
  }
}
