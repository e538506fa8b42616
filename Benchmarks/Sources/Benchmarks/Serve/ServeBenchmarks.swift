import Foundation

/// How many clients one service carries, with the service in a process of its own and clients on raw sockets in this one.
///
/// | Case | Meaning |
/// | --- | --- |
/// | `serve.<n>_idle.memory` | resident memory of the service for each idle stream |
/// | `serve.<n>_idle.memory_after_close` | the same, a minute after they have ended |
/// | `serve.<n>_idle.unrelated_commits` | time on processors for 100 commits a second that concern none, as a share of one core; without streams: `floor` |
/// | `serve.<n>_idle.one_change_for_all` | from the request that writes a row for all to the last client |
/// | `serve.1000_streams.10_changes` | from the request that writes a row for each to its client, ten times a second |
/// | `serve.rows_out.<n>_clients` | a first sync of 100,000 rows, over all clients |
///
/// The floor is a server that knows nothing, and writes as many bytes. Both ends share the machine's cores.
enum ServeBenchmarks {
    private static let bulkRows = 100_000
    /// The streams that get something all the time.
    private static let changedStreams = 1_000
    /// Between two keepalives of a stream, so that each measurement has one of all streams in it.
    private static let measuredTime = Duration.seconds(20)

    /// Runs all cases.
    ///
    /// - Parameter streams: How many idle streams; 10,000 by default, fewer if this process may not have as many files.
    /// - Throws: An error of a child process or a connection.
    static func run(streams: Int? = nil) async throws {
        let count = streams ?? min(10_000, max(100, openFileLimit - 500))
        let folder = try TemporaryFolder()
        let scenario = ServeScenario(bulkRows: bulkRows, folder: folder.folderPath)
        let service = try ChildProcess(.serve, scenario)
        let address = try service.answer(ServiceProcess.Address.self)
        let bulkBytes = try await rowsOut(scenario, address, process: service.identifier)
        try await idle(count, scenario, address, process: service.identifier)
        try await changes(scenario, address)
        try service.end()
        try await floors(count, bulkBytes: bulkBytes)
    }

    private static var openFileLimit: Int {
        var files = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        return getrlimit(resource, &files) == 0 ? Int(clamping: files.rlim_cur) : 1_024
    }

    // MARK: Cases

    /// Downloads everything, with one client and with eight.
    ///
    /// - Returns: The bytes for one client.
    private static func rowsOut(
        _ scenario: ServeScenario,
        _ address: ServiceProcess.Address,
        process: Int32
    ) async throws -> Int {
        var bytes = 0
        for count in [1, 8] {
            var best = Measurement.never
            for _ in 0..<3 {
                let clients = StreamClients()
                let requests = try (0..<count).map { try scenario.request(user: "bulk-\($0)", subscribesToBulk: true) }
                let start = ContinuousClock.now
                try await clients.open(requests, port: address.port)
                best.best = min(best.best, ContinuousClock.now - start)
                bytes = clients.byteCount / count
                await clients.close()
            }
            Report.line("serve.rows_out.\(count)_clients", ours: best.rate(of: bulkRows * count), floors: [])
        }
        return bytes
    }

    private static func idle(
        _ count: Int,
        _ scenario: ServeScenario,
        _ address: ServiceProcess.Address,
        process: Int32
    ) async throws {
        // What the service needs once, such as the caches of the storage, is there before anything is measured.
        let first = StreamClients()
        try await first.open((0..<100).map { try scenario.request(user: "early-\($0)") }, port: address.port)
        await first.close()
        try await commits(address, for: .seconds(1)) { _ in unrelated }
        let withoutStreams = try await load(process) {
            try await commits(address, for: measuredTime) { _ in unrelated }
        }

        let requests = try (0..<count).map { try scenario.request(user: "user-\($0)") }
        let clients = StreamClients()
        let before = ProcessFigures(of: process)?.memory ?? 0
        try await clients.open(requests, port: address.port)
        let after = ProcessFigures(of: process)?.memory ?? 0
        let prefix = "serve.\(count)_idle"
        Report.figure("\(prefix).memory", ours: "\((after - before) / count / 1_024) KiB a stream")

        let keepalives = try await load(process) { try await Task.sleep(for: measuredTime) }
        let withStreams = try await load(process) {
            try await commits(address, for: measuredTime) { _ in unrelated }
        }
        Report.figure(
            "\(prefix).unrelated_commits",
            ours: Report.percent(withStreams - withoutStreams - keepalives),
            floors: [
                ("no streams", Report.percent(withoutStreams)), ("no commits", Report.percent(keepalives)),
                ("all", Report.percent(withStreams)),
            ]
        )

        var best = Measurement.never
        for number in 0..<5 {
            let wait = clients.expect(count)
            let start = ContinuousClock.now
            try await write(address, [row("news", "n\(number)", owner: "all", title: "A change for all")])
            await wait()
            best.best = min(best.best, clients.lastCompletion - start)
        }
        Report.time("\(prefix).one_change_for_all", ours: best, floors: [])
        await clients.close()
        // Once a minute what is not used any more is given back.
        try await Task.sleep(for: .seconds(62))
        let closed = ProcessFigures(of: process)?.memory ?? 0
        Report.figure("\(prefix).memory_after_close", ours: "\((closed - before) / count / 1_024) KiB a stream")
    }

    private static func changes(_ scenario: ServeScenario, _ address: ServiceProcess.Address) async throws {
        let requests = try (0..<changedStreams).map { try scenario.request(user: "busy-\($0)") }
        try await changes("serve", requests, port: address.port) { stamp in
            try await write(
                address,
                (0..<changedStreams).map { row("mine", "busy-\($0)", owner: "busy-\($0)", title: stamp) }
            )
        }
    }

    /// Has something written for each of some streams, ten times a second.
    private static func changes(
        _ prefix: String,
        _ requests: [String],
        port: Int,
        write: (_ stamp: String) async throws -> Void
    ) async throws {
        let clients = StreamClients()
        try await clients.open(requests, port: port)
        _ = clients.takeDelays()
        let pace = Duration.milliseconds(100)
        let start = ContinuousClock.now
        for round in 0..<100 {
            try await write(clients.stamp)
            try await Task.sleep(until: start + pace * (round + 1), clock: .continuous)
        }
        let duration = ContinuousClock.now - start
        try await Task.sleep(for: .seconds(2))
        let delays = clients.takeDelays()
        let name = "\(prefix).\(requests.count)_streams.10_changes"
        Report.line("\(name).arrived", ours: Double(delays.count) / (duration / .seconds(1)), floors: [])
        try Report.delays(name, delays)
        await clients.close()
    }

    /// The same with a server that knows nothing.
    private static func floors(_ count: Int, bulkBytes: Int) async throws {
        let server = try ChildProcess(.plainServer, PlainServer(bulkBytes: bulkBytes))
        let address = try server.answer(ServiceProcess.Address.self)
        for number in [1, 8] {
            let clients = StreamClients()
            let start = ContinuousClock.now
            try await clients.open(Array(repeating: "GET /bulk\r\n\r\n", count: number), port: address.port)
            let time = Measurement(best: ContinuousClock.now - start)
            Report.line("serve.floor.rows_out.\(number)_clients", ours: time.rate(of: bulkRows * number), floors: [])
            await clients.close()
        }
        let clients = StreamClients()
        let before = ProcessFigures(of: server.identifier)?.memory ?? 0
        try await clients.open(Array(repeating: "GET /stream\r\n\r\n", count: count), port: address.port)
        let after = ProcessFigures(of: server.identifier)?.memory ?? 0
        Report.figure("serve.floor.\(count)_idle.memory", ours: "\((after - before) / count / 1_024) KiB a stream")
        let wait = clients.expect(count)
        let start = ContinuousClock.now
        try await StreamClients().send("GET /broadcast\r\n\r\n", port: address.port)
        await wait()
        let time = Measurement(best: clients.lastCompletion - start)
        Report.time("serve.floor.\(count)_idle.one_change_for_all", ours: time, floors: [])
        await clients.close()
        let writer = StreamClients()
        let requests = Array(repeating: "GET /stream\r\n\r\n", count: changedStreams)
        try await changes("serve.floor", requests, port: address.port) { stamp in
            try await writer.send("GET /broadcast \(stamp)\r\n\r\n", port: address.port)
        }
        await writer.close()
        try server.end()
    }

    // MARK: Writes

    private static let unrelated = [row("mine", "nobody", owner: "nobody", title: "A change for nobody")]

    private static func row(_ table: String, _ id: String, owner: String, title: String) -> String {
        #"{"op":"PUT","type":"\#(table)","id":"\#(id)","data":{"owner":"\#(owner)","title":"\#(title)"}}"#
    }

    private static func write(_ address: ServiceProcess.Address, _ rows: [String]) async throws {
        try await address.post(#"{"data":["# + rows.joined(separator: ",") + "]}", to: "/dev/write")
    }

    /// Writes a hundred times a second.
    private static func commits(
        _ address: ServiceProcess.Address,
        for time: Duration,
        _ rows: (Int) -> [String]
    ) async throws {
        let start = ContinuousClock.now
        for number in 1...Int(time / .milliseconds(10)) {
            try await write(address, rows(number))
            try await Task.sleep(until: start + .milliseconds(10) * number, clock: .continuous)
        }
    }

    /// The share of one core that a process takes meanwhile.
    private static func load(_ process: Int32, _ body: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        let before = ProcessFigures(of: process)?.cpu ?? .zero
        try await body()
        let cpu = (ProcessFigures(of: process)?.cpu ?? .zero) - before
        return cpu / (ContinuousClock.now - start)
    }
}
