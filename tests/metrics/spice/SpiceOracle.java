import edu.anu.spice.SceneGraph;
import edu.anu.spice.SpiceParser;
import edu.anu.spice.SpiceStats;
import edu.anu.spice.TupleFilter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.json.simple.JSONArray;
import org.json.simple.JSONObject;
import org.json.simple.JSONValue;

/**
 * SPICE's own merging and scoring, fed with tuples instead of captions: what ours is tested against.
 *
 * <p>Each line of standard input is {"test": tuples, "refs": [tuples, ...]}; each line of standard
 * output is what SPICE's -detailed -subset output says about that item. No models are loaded.
 */
public final class SpiceOracle extends SpiceParser {
  private Map<String, ArrayList<ArrayList<String>>> given = new HashMap<>();

  private SpiceOracle() {
    super(null, 1, true);
  }

  @Override
  protected Map<String, ArrayList<ArrayList<String>>> loadTuples(List<String> captions) {
    return given;
  }

  @SuppressWarnings("unchecked") // a JSON array of arrays of strings is an ArrayList of such
  private String score(JSONObject item) {
    JSONArray references = (JSONArray) item.get("refs");
    List<String> names = new ArrayList<>();
    given = new HashMap<>();
    for (int i = 0; i < references.size(); i++) {
      names.add("reference " + i);
      given.put(names.get(i), (ArrayList<ArrayList<String>>) references.get(i));
    }
    given.put("test", (ArrayList<ArrayList<String>>) item.get("test"));
    SceneGraph test = parseCaptions(Collections.singletonList("test")).get(0);
    SceneGraph wanted = parseCaptions(names, Collections.singletonList(names.size())).get(0);
    Map<String, TupleFilter> filters = new HashMap<>();
    filters.put("Object", TupleFilter.objectFilter);
    filters.put("Attribute", TupleFilter.attributeFilter);
    filters.put("Relation", TupleFilter.relationFilter);
    filters.put("Cardinality", TupleFilter.cardinalityFilter);
    filters.put("Color", TupleFilter.colorFilter);
    filters.put("Size", TupleFilter.sizeFilter);
    SpiceStats stats = new SpiceStats(filters, true);
    stats.score(0, test, wanted, true);
    return JSONValue.toJSONString(stats.toJSONArray().get(0));
  }

  public static void main(String[] args) {
    SpiceOracle oracle = new SpiceOracle();
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        System.out.println(oracle.score((JSONObject) JSONValue.parse(line)));
      }
    } catch (IOException broken) {
      throw new IllegalStateException(broken);
    }
  }
}
