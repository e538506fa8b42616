import Foundation
import Testing

/// Worlds of devices, a service and a backend, each in a process of its own (docs/simulation.md).
@Suite struct WorldTests {
    /// The seed of a part that is not long, and of one that is: `POWERSYNC_SEEDS` new ones.
    ///
    /// Seed 1 is that of ``theSameSeedGivesTheSameRun()``.
    static let seeds: [UInt64] = {
        let count = ProcessInfo.processInfo.environment["POWERSYNC_SEEDS"].flatMap { Int($0) } ?? 0
        return [2] + (0..<count).map { _ in UInt64.random(in: 1...UInt64(UInt32.max)) }
    }()

    @Test(.timeLimit(.minutes(5))) func theSameSeedGivesTheSameRun() async throws {
        let first = try await SimulateCommand.run("1", "--hours", "0.5")
        let second = try await SimulateCommand.run("1", "--hours", "0.5")
        let summary = try #require(first.summary, "\(first.output)")
        #expect(summary == second.summary)
        #expect([first.status, second.status] == [0, 0], "\(first.output)\(second.output)")
    }

    @Test(.timeLimit(.minutes(5)), arguments: seeds) func nothingHappensThatMustNot(seed: UInt64) async throws {
        let run = try await SimulateCommand.run("\(seed)", "--hours", "0.5")
        #expect(run.status == 0, "\(run.output)")
    }

    /// A world does one thing wrong from its beginning, and says what.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ("causality", "whose writer had seen"),
            ("waits", "waits without a reason"),
            ("memory", "KiB of memory at rest"),
        ]
    ) func whatIsBrokenOnPurposeIsNoticed(what: String, violation: String) async throws {
        // A world need not come to what is broken in it, and which one does changes with the code.
        var run = try await SimulateCommand.run("3", "--hours", "0.1", "--devices", "4", "--break", what)
        for seed in 4...10 where run.status == 0 {
            run = try await SimulateCommand.run("\(seed)", "--hours", "0.1", "--devices", "4", "--break", what)
        }
        #expect(run.status == 1)
        let line = run.output.split(separator: "\n").first { $0.hasPrefix("violation: ") }
        #expect(line?.contains(violation) == true, "\(run.output)")
    }
}

/// The command `simulate`, which is built beside the tests.
struct SimulateCommand {
    let status: Int32
    let output: String

    /// What does not depend on how fast the machine is.
    var summary: Substring? { output.split(separator: "\n").last { $0.hasPrefix("seed ") } }

    static func run(_ arguments: String...) async throws -> SimulateCommand {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
            path: "simulate"
        )
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        let (exits, exit) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in exit.finish() }
        try process.run()
        // At its end: what a run prints fits into a pipe, or is read while it is printed.
        let data = try await Task.detached { try output.fileHandleForReading.readToEnd() ?? Data() }.value
        for await _ in exits {}
        if process.terminationReason == .uncaughtSignal { removeFolder(ofSeed: arguments.first ?? "") }
        return SimulateCommand(status: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
    }

    /// Removes the files of a run that had no end of its own, unless another run of the seed has them by now.
    private static func removeFolder(ofSeed seed: String) {
        for parent in ["/dev/shm", "/tmp"] {
            let folder = "\(parent)/powersync-simulation-\(seed)"
            let lock = open(folder + ".lock", O_RDWR | O_CLOEXEC)
            guard lock >= 0 else { continue }
            defer { close(lock) }
            guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { continue }
            try? FileManager.default.removeItem(atPath: folder)
            unlink(folder + ".lock")
        }
    }
}
