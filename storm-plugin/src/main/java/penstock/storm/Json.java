package penstock.storm;

import java.util.Map;
import net.minidev.json.JSONStyle;
import net.minidev.json.JSONValue;
import net.minidev.json.parser.JSONParser;
import net.minidev.json.parser.ParseException;

/** JSON by the library Storm itself uses, in its strict mode. */
final class Json {
    private Json() {}

    static Object parse(String text) throws PlanException {
        try {
            return new JSONParser(JSONParser.MODE_RFC4627).parse(text);
        } catch (ParseException error) {
            throw new PlanException("is no JSON: " + firstLine(error.getMessage()));
        } catch (RuntimeException | StackOverflowError error) {
            throw new PlanException("is no JSON: " + error);
        }
    }

    /** One line; numbers that JSON does not have must not get here. */
    static String line(Map<String, ?> value) {
        return JSONValue.toJSONString(value, JSONStyle.NO_COMPRESS);
    }

    private static String firstLine(String text) {
        return text == null ? "?" : text.lines().findFirst().orElse("?");
    }
}
