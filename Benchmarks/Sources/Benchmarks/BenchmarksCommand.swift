/// Runs the named areas, or all of them.
///
/// ```
/// benchmarks [decode] [apply] [one-row] [direct-tables] [encryption] [sync] [serve] [deploy] [local-writes] [upload-queue] [reads] [typed-rows]
///            [schema] [opening] [seed] [watching] [writers] [rules] [tokens] [postgres] [postgres-live] [economy-updates]
///            [economy-latency] [economy-toast] [mysql] [mysql-transaction] [mysql-live] [mysql-clients] [store] [applier] [million]
///            [<number>]
/// ```
///
/// `million` is not an area: it adds the case of a million rows to `apply`, `sync`, `seed` and `writers`, which takes minutes. A number is
/// that of the idle streams of `serve`, 10,000 by default if the limit of open files allows it, and of the rows of `store` and
/// `postgres` and `mysql`, 300,000 by default. `postgres`, `postgres-live`, `economy-latency` and `economy-toast` need
/// `scripts/with-postgres` before the command for all but decoding, those of `mysql` `scripts/with-mysql`, and `applier` both for the
/// servers.
/// `encryption` needs a SQLite library with a cipher: a folder with `libsqlite3.so.0`, a link to SQLCipher's library, in
/// `LD_LIBRARY_PATH`. Every line compares with the floors measured in the
/// same run; compare ratios, machines are noisy.
@main
enum BenchmarksCommand {
    private static let areas: [(name: String, run: @Sendable (Options) async throws -> Void)] = [
        ("decode", { _ in try DecodeBenchmarks.run() }),
        ("apply", { try ApplyBenchmarks.run(includesMillion: $0.includesMillion) }),
        ("one-row", { _ in try OneRowBenchmarks.run() }),
        ("direct-tables", { _ in try DirectTableBenchmarks.run() }),
        ("encryption", { _ in try EncryptionBenchmarks.run() }),
        ("sync", { try SyncBenchmarks.run(includesMillion: $0.includesMillion) }),
        ("serve", { try await ServeBenchmarks.run(streams: $0.number) }),
        ("deploy", { _ in try await DeployBenchmarks.run() }),
        ("local-writes", { _ in try LocalWriteBenchmarks.run() }),
        ("upload-queue", { _ in try UploadQueueBenchmarks.run() }),
        ("reads", { _ in try ViewReadBenchmarks.run() }),
        ("typed-rows", { _ in try await TypedRowBenchmarks.run() }),
        ("schema", { _ in try SchemaBenchmarks.run() }),
        ("opening", { _ in try OpeningBenchmarks.run() }),
        ("seed", { try await SeedBenchmarks.run(includesMillion: $0.includesMillion) }),
        ("watching", { _ in try await WatchingBenchmarks.run() }),
        ("rules", { _ in try await RulesBenchmarks.run() }),
        ("tokens", { _ in try await TokenBenchmarks.run() }),
        ("postgres", { try await PostgresBenchmarks.run(rows: $0.number ?? 300_000) }),
        ("postgres-live", { _ in try await PostgresLiveBenchmarks.run() }),
        ("economy-updates", { _ in try await EconomyBenchmarks.updates() }),
        ("economy-latency", { _ in try await EconomyBenchmarks.latency() }),
        ("economy-toast", { _ in try await EconomyBenchmarks.largeValues() }),
        ("mysql", { try await MySQLBenchmarks.run(rows: $0.number ?? 300_000) }),
        ("mysql-transaction", { _ in try await MySQLBenchmarks.runTransaction() }),
        ("mysql-live", { _ in try await MySQLBenchmarks.runLive() }),
        ("mysql-clients", { _ in try await MySQLBenchmarks.runClients() }),
        ("store", { try await StoreBenchmarks.run(rows: $0.number ?? 300_000) }),
        ("applier", { _ in try await ApplierBenchmarks.run() }),
        ("writers", { try await WriterBenchmarks.run(includesMillion: $0.includesMillion) }),
    ]

    private struct Options {
        var includesMillion: Bool
        var number: Int?
    }

    static func main() async throws {
        if CommandLine.arguments.dropFirst().first == ChildProcess.command {
            return try await ChildProcess.main(CommandLine.arguments.dropFirst(2))
        }
        var names = Set(CommandLine.arguments.dropFirst())
        let number = names.first { Int($0) != nil }.flatMap { names.remove($0) }.flatMap { Int($0) }
        let options = Options(includesMillion: names.remove("million") != nil, number: number)
        if let unknown = names.subtracting(areas.map(\.name)).min() {
            print(
                "There is no area '\(unknown)'. Areas:",
                areas.map(\.name).joined(separator: " "),
                "[million] [<number>]"
            )
            return
        }
        for area in areas where names.isEmpty || names.contains(area.name) {
            try await area.run(options)
        }
    }
}
