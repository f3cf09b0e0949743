package acme;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class Orders { public static void main(String[] a) { SpringApplication.run(Orders.class, a); } }
