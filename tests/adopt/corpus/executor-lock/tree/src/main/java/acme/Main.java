package acme;

public class Main {
    public static void main(String[] args) { new Purger(new Db()).start(); }
}
