import PowerSync
import PowerSyncTerminal

extension Demo {
    /// Between steps 5 and 6, if wanted: the clients stay connected, and nothing happens.
    ///
    /// - Parameter time: For how long.
    /// - Throws: ``DemoFailure`` when a client lost its connection, opened a stream anew, or had an error.
    func stayIdle(for time: Duration) async throws {
        try terminal.line()
        try terminal.line("  A, B and C stay connected for \(time.readable), and nothing happens")
        let clients = [anna, bert, stranger]
        let streams = clients.map(\.streamRequests)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for client in clients {
                group.addTask { try await client.expectSteadyConnection() }
            }
            group.addTask { try await Task.sleep(for: time) }
            try await group.next()
        }
        for (client, before) in zip(clients, streams) {
            let count = client.streamRequests - before
            try expect(count == 0, "\(client.name) opened its stream anew \(count) times while nothing happened")
        }
        try terminal.line("  each on the stream that it had before, without an error")
    }
}

extension DemoClient {
    /// Watches the status until the task is cancelled.
    ///
    /// - Throws: ``DemoFailure`` when the client is not connected, or has an error.
    fileprivate func expectSteadyConnection() async throws {
        for await status in database.currentStatus.asFlow() {
            try expect(status.anyError == nil, "\(name) has an error: \(status.anyError ?? "")")
            try expect(status.connected, "\(name) lost its connection while nothing happened")
        }
        try Task.checkCancellation()
        throw DemoFailure("the status of \(name) ended")
    }
}
