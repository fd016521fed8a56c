package penstock.storm;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A JSON object whose fields are asked for by name and type; every refusal says where it is. */
final class Fields {
    private final Map<?, ?> values;
    private final String at;

    Fields(Object value, String at) throws PlanException {
        if (!(value instanceof Map<?, ?> map)) {
            throw new PlanException(at + " must be an object, not " + kind(value));
        }
        this.values = map;
        this.at = at;
    }

    boolean has(String name) {
        return values.get(name) != null;
    }

    Set<String> names() throws PlanException {
        for (Object key : values.keySet()) {
            if (!(key instanceof String)) {
                throw new PlanException(at + " has a name that is no text: " + key);
            }
        }
        @SuppressWarnings("unchecked")
        Set<String> names = (Set<String>) values.keySet();
        return names;
    }

    String at(String name) {
        return at.equals("the file") ? name : at + "." + name;
    }

    String text(String name) throws PlanException {
        if (values.get(name) instanceof String text && !text.isEmpty()) {
            return text;
        }
        throw wrong(name, "text");
    }

    String textOrNull(String name) throws PlanException {
        return has(name) ? text(name) : null;
    }

    List<String> texts(String name) throws PlanException {
        List<String> texts = new ArrayList<>();
        if (!has(name)) {
            return texts;
        }
        if (values.get(name) instanceof List<?> list) {
            for (Object entry : list) {
                if (!(entry instanceof String text)) {
                    throw wrong(name, "a list of texts");
                }
                texts.add(text);
            }
            return texts;
        }
        throw wrong(name, "a list of texts");
    }

    int whole(String name, int least, int most) throws PlanException {
        Object value = values.get(name);
        if ((value instanceof Integer || value instanceof Long)
                && ((Number) value).longValue() >= least
                && ((Number) value).longValue() <= most) {
            return ((Number) value).intValue();
        }
        throw wrong(name, "a whole number from " + least + " to " + most);
    }

    int wholeOr(String name, int least, int most, int absent) throws PlanException {
        return has(name) ? whole(name, least, most) : absent;
    }

    Double numberOrNull(String name) throws PlanException {
        Object value = values.get(name);
        if (value == null) {
            return null;
        }
        if (value instanceof Number number && Double.isFinite(number.doubleValue())) {
            return number.doubleValue();
        }
        throw wrong(name, "a number");
    }

    Fields fields(String name) throws PlanException {
        return new Fields(values.get(name), at(name));
    }

    List<Fields> list(String name) throws PlanException {
        if (!(values.get(name) instanceof List<?> list)) {
            throw wrong(name, "a list");
        }
        List<Fields> entries = new ArrayList<>(list.size());
        for (int i = 0; i < list.size(); i++) {
            entries.add(new Fields(list.get(i), at(name) + "[" + i + "]"));
        }
        return entries;
    }

    private PlanException wrong(String name, String wanted) {
        return new PlanException(at(name) + " must be " + wanted + ", not " + kind(values.get(name)));
    }

    private static String kind(Object value) {
        if (value == null) {
            return "absent";
        }
        String text = String.valueOf(value);
        return text.length() > 60 ? text.substring(0, 59) + "…" : text;
    }
}
