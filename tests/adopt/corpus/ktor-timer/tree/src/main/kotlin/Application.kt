import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import java.util.concurrent.TimeUnit
import kotlin.concurrent.fixedRateTimer

fun main() {
    fixedRateTimer(name = "exports", daemon = true, period = TimeUnit.DAYS.toMillis(1)) {
        exportAll()
    }
    embeddedServer(Netty, port = 8080) { }.start(wait = true)
}

fun exportAll() {}
