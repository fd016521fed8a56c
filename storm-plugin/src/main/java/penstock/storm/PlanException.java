package penstock.storm;

/** A plan that cannot be used, with the place in it and what is wrong there. */
public class PlanException extends Exception {
    private static final long serialVersionUID = 1L;

    public PlanException(String message) {
        super(message);
    }
}
