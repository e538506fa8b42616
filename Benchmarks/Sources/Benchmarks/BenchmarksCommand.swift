/// `benchmarks [decode] [apply] [upload-queue] [million]`: runs the named areas, or all of them.
///
/// Every line compares with the floors measured in the same run; compare ratios, machines are noisy.
@main
enum BenchmarksCommand {
    static func main() throws {
        let names = Set(CommandLine.arguments.dropFirst())
        let areas = names.subtracting(["million"])
        let runs = { (area: String) in areas.isEmpty || areas.contains(area) }
        if runs("decode") {
            try DecodeBenchmarks.run()
        }
        if runs("apply") {
            try ApplyBenchmarks.run(includesMillion: names.contains("million"))
        }
        if runs("upload-queue") {
            try UploadQueueBenchmarks.run()
        }
    }
}
