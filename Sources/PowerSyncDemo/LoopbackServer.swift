import Hummingbird
import Logging
import PowerSyncTerminal

/// Routes of the demo's own backend, on a loopback port.
struct LoopbackServer {
    /// What it is, for errors.
    let name: String
    /// Where it listens; 0 for any free port.
    var port = 0
    /// What it answers.
    let router: Router<BasicRequestContext>

    /// Runs the server for as long as a closure.
    ///
    /// - Parameter body: Gets the base URL, without a slash at the end.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, or ``DemoFailure``.
    func whileRunning<Result: Sendable>(
        _ body: @escaping @Sendable (_ url: String) async throws -> Result
    ) async throws -> Result {
        let (ports, portsContinuation) = AsyncStream<Int>.makeStream(bufferingPolicy: .bufferingNewest(1))
        var logger = Logger(label: "powersync.demo.backend") { TextLogHandler(label: $0) }
        // The server is ended by cancelling it, which it reports as an error.
        logger.logLevel = .critical
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in portsContinuation.yield(channel.localAddress?.port ?? 0) },
            logger: logger
        )
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await application.run()
                return nil
            }
            group.addTask {
                for await port in ports { return try await body("http://127.0.0.1:\(port)") }
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw DemoFailure("\(name) ended")
        }
    }
}
