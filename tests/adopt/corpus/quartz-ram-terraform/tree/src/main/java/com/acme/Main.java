package com.acme;

public class Main {
    public static void main(String[] a) throws Exception {
        new Scheduler().start();
        new HttpApi().listen(8080);
    }
}
