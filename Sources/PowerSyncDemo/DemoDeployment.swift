/// Where the demo's source is, and which services run for the clients.
protocol DemoDeployment: Sendable {
    /// What it is, for the first line of the output.
    var summary: String { get }

    /// Runs everything that clients need for as long as a closure.
    ///
    /// - Parameters:
    ///   - port: Where clients connect, as the ``DemoBackend`` of an earlier call had it; 0 for any free one.
    ///   - body: Called when clients can sync.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or an error of a service.
    func whileRunning<Result: Sendable>(
        on port: Int,
        _ body: @escaping @Sendable (DemoBackend, any DemoSource) async throws -> Result
    ) async throws -> Result
}
