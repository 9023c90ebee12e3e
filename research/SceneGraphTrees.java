import edu.anu.spice.SpiceParser;
import edu.stanford.nlp.ling.CoreAnnotations;
import edu.stanford.nlp.ling.CoreLabel;
import edu.stanford.nlp.ling.IndexedWord;
import edu.stanford.nlp.pipeline.Annotation;
import edu.stanford.nlp.pipeline.StanfordCoreNLP;
import edu.stanford.nlp.semgraph.SemanticGraph;
import edu.stanford.nlp.semgraph.SemanticGraphCoreAnnotations;
import edu.stanford.nlp.semgraph.SemanticGraphEdge;
import edu.stanford.nlp.util.CoreMap;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.json.simple.JSONValue;

/**
 * Sentences in (JSON strings, a line each), CoreNLP's trees and SPICE's tuples out (JSON Lines).
 *
 * <p>What the built-in parser is trained on; the class path is SPICE's and CoreNLP's (`class_path`
 * in spice_service.py): java -Xmx2g -cp PATH research/SceneGraphTrees.java < IN > OUT
 */
public final class SceneGraphTrees extends SpiceParser {
  private final StanfordCoreNLP pipeline;

  private SceneGraphTrees() {
    super(null, 1, true);
    Properties properties = new Properties();
    properties.setProperty("annotators", "tokenize,ssplit,parse,lemma");
    pipeline = new StanfordCoreNLP(properties);
  }

  private static List<Object> basic(CoreMap sentence) {
    SemanticGraph graph =
        sentence.get(SemanticGraphCoreAnnotations.BasicDependenciesAnnotation.class);
    List<Object> edges = new ArrayList<>();
    for (IndexedWord root : graph.getRoots()) {
      edges.add(List.of(0, "root", root.index()));
    }
    for (SemanticGraphEdge edge : graph.edgeIterable()) {
      edges.add(
          List.of(
              edge.getGovernor().index(),
              edge.getRelation().toString(),
              edge.getDependent().index()));
    }
    return edges;
  }

  private String read(String text) {
    Annotation annotation = new Annotation(text);
    pipeline.annotate(annotation);
    List<Object> sentences = new ArrayList<>();
    for (CoreMap sentence : annotation.get(CoreAnnotations.SentencesAnnotation.class)) {
      List<Object> tokens = new ArrayList<>();
      for (CoreLabel token : sentence.get(CoreAnnotations.TokensAnnotation.class)) {
        tokens.add(List.of(token.word(), token.tag(), token.lemma()));
      }
      sentences.add(Map.of("tokens", tokens, "basic", basic(sentence)));
    }
    Map<String, Object> known = new LinkedHashMap<>();
    known.put("text", text);
    known.put("sentences", sentences);
    known.put("tuples", parseAnnotation(annotation).tuples); // changes the graphs: last
    return JSONValue.toJSONString(known);
  }

  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(new PrintStream(OutputStream.nullOutputStream())); // a library's chatter
    SceneGraphTrees reader = new SceneGraphTrees();
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        out.println(reader.read((String) JSONValue.parse(line)));
      }
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
  }
}
