package com.acme;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class FilesApplication {
    public static void main(String[] args) { SpringApplication.run(FilesApplication.class, args); }
}
