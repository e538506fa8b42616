/// How long another sync config takes until clients have it, in a service with 1,000 streams.
///
/// | Case | Meaning |
/// | --- | --- |
/// | `deploy.100k_rows.switch` | from the request that deploys it to the end of the first stream of the old one; 100,000 rows are read for it |
/// | `deploy.100k_rows.old_streams_gone` | from the end of the first stream to that of the last |
/// | `deploy.1k_rows_beside_1M.switch` | as above; 1,000 rows are read for the stream that changed, none of the million of another one |
/// | `deploy.1k_rows_beside_1M.old_streams_gone` | as above |
enum DeployBenchmarks {
    private static let streams = 1_000

    /// Runs all cases.
    ///
    /// - Throws: An error of the child process or a connection.
    static func run() async throws {
        try await deploy(
            ServeScenario.syncConfig(bulk: "owner = 'bulk'"),
            bulkRows: 100_000,
            newsRows: 0,
            name: "deploy.100k_rows"
        )
        try await deploy(
            ServeScenario.syncConfig(news: "SELECT id, title FROM news"),
            bulkRows: 1_000_000,
            newsRows: 1_000,
            name: "deploy.1k_rows_beside_1M"
        )
    }

    private static func deploy(_ config: String, bulkRows: Int, newsRows: Int, name: String) async throws {
        let folder = try TemporaryFolder()
        let scenario = ServeScenario(bulkRows: bulkRows, newsRows: newsRows, folder: folder.folderPath)
        let service = try ChildProcess(.serve, scenario)
        let address = try service.answer(ServiceProcess.Address.self)
        let clients = StreamClients()
        try await clients.open((0..<streams).map { try scenario.request(user: "user-\($0)") }, port: address.port)

        let start = ContinuousClock.now
        try await address.post(
            config,
            as: "application/yaml",
            to: "/api/sync-rules/v1/deploy",
            token: ServeScenario.adminToken
        )
        let ends = await clients.ends(streams)
        Report.time("\(name).switch", ours: Measurement(best: ends[0] - start), floors: [])
        Report.time("\(name).old_streams_gone", ours: Measurement(best: ends[streams - 1] - ends[0]), floors: [])
        await clients.close()
        try service.end()
    }
}
