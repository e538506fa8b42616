/// Runs the named areas, or all of them.
///
/// ```
/// benchmarks [decode] [apply] [one-row] [sync] [serve] [local-writes] [upload-queue] [reads] [typed-rows] [schema] [opening] [watching]
///            [writers] [rules] [million]
/// ```
///
/// A number is that of the idle streams of `serve`, 10,000 if the limit of open files allows it. `million` is not an area: it adds the case of a million rows to `apply`, `sync` and `writers`, which takes minutes. Every line compares
/// with the floors measured in the same run; compare ratios, machines are noisy.
@main
enum BenchmarksCommand {
    private static let areas: [(name: String, run: @Sendable (Options) async throws -> Void)] = [
        ("decode", { _ in try DecodeBenchmarks.run() }),
        ("apply", { try ApplyBenchmarks.run(includesMillion: $0.includesMillion) }),
        ("one-row", { _ in try OneRowBenchmarks.run() }),
        ("sync", { try SyncBenchmarks.run(includesMillion: $0.includesMillion) }),
        ("serve", { try await ServeBenchmarks.run(streams: $0.streams) }),
        ("local-writes", { _ in try LocalWriteBenchmarks.run() }),
        ("upload-queue", { _ in try UploadQueueBenchmarks.run() }),
        ("reads", { _ in try ViewReadBenchmarks.run() }),
        ("typed-rows", { _ in try await TypedRowBenchmarks.run() }),
        ("schema", { _ in try SchemaBenchmarks.run() }),
        ("opening", { _ in try OpeningBenchmarks.run() }),
        ("watching", { _ in try await WatchingBenchmarks.run() }),
        ("rules", { _ in try await RulesBenchmarks.run() }),
        ("writers", { try await WriterBenchmarks.run(includesMillion: $0.includesMillion) }),
    ]

    private struct Options {
        var includesMillion: Bool
        var streams: Int?
    }

    static func main() async throws {
        if CommandLine.arguments.dropFirst().first == ChildProcess.command {
            return try await ChildProcess.main(CommandLine.arguments.dropFirst(2))
        }
        var names = Set(CommandLine.arguments.dropFirst())
        let streams = names.first { Int($0) != nil }.flatMap { names.remove($0) }.flatMap { Int($0) }
        let options = Options(includesMillion: names.remove("million") != nil, streams: streams)
        if let unknown = names.subtracting(areas.map(\.name)).min() {
            print("There is no area '\(unknown)'. Areas:", areas.map(\.name).joined(separator: " "), "[million]")
            return
        }
        for area in areas where names.isEmpty || names.contains(area.name) {
            try await area.run(options)
        }
    }
}
