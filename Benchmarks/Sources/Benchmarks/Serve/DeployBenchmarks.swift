/// How long another sync config takes until clients have it, in a service with 100,000 rows and 1,000 streams.
///
/// | Case | Meaning |
/// | --- | --- |
/// | `deploy.100k_rows.switch` | from the request that deploys it to the end of the first stream of the old one: the source is copied meanwhile |
/// | `deploy.100k_rows.old_streams_gone` | from the end of the first stream to that of the last |
enum DeployBenchmarks {
    private static let rows = 100_000
    private static let streams = 1_000

    /// Runs all cases.
    ///
    /// - Throws: An error of the child process or a connection.
    static func run() async throws {
        let folder = try TemporaryFolder()
        let scenario = ServeScenario(bulkRows: rows, folder: folder.folderPath)
        let service = try ChildProcess(.serve, scenario)
        let address = try service.answer(ServiceProcess.Address.self)
        let clients = StreamClients()
        try await clients.open((0..<streams).map { try scenario.request(user: "user-\($0)") }, port: address.port)

        let start = ContinuousClock.now
        try await address.post(
            ServeScenario.syncConfig(bulk: "owner = 'bulk'"),
            as: "application/yaml",
            to: "/api/sync-rules/v1/deploy",
            token: ServeScenario.adminToken
        )
        let ends = await clients.ends(streams)
        let name = "deploy.\(rows / 1_000)k_rows"
        Report.time("\(name).switch", ours: Measurement(best: ends[0] - start), floors: [])
        Report.time("\(name).old_streams_gone", ours: Measurement(best: ends[streams - 1] - ends[0]), floors: [])
        await clients.close()
        try service.end()
    }
}
