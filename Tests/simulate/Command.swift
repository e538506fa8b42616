import CSimulation
import Foundation
import Simulation

/// What the command is asked for.
struct Command {
    static let usage = """
        usage: simulate SEED [--hours H] [--devices N] [--without 3,5-9] [--print] [--logs] [--lines N] [--shrink RUNS]
                        [--break causality|waits|memory] [--record FILE]

        Runs a world of devices, a service and a backend for some virtual hours. What happens depends on the seed only.
          --hours H       how long; 12 by default
          --devices N     how many devices; 10 by default
          --without LIST  leaves steps out, by their numbers
          --print         prints the timeline
          --logs          has what the programs log in the timeline, too
          --lines N       how much of the timeline is printed at a failure; 80 lines by default
          --shrink RUNS   of a seed that fails, finds the steps that are needed, with at most so many runs
          --record FILE   writes a line for each job to a file, to compare two runs
          --break WHAT    does something wrong on purpose, to see that it is noticed

        Exits with 0 when nothing has happened that must not, else with 1.

        """

    var seed: UInt64
    var hours = 12.0
    var devices = 10
    var without: Set<Int> = []
    var isPrinted = false
    var hasLogs = false
    var lines = 80
    var shrinkingRuns: Int?
    var broken: World.Break?
    var record: String?

    /// Reads arguments; `nil` when they are none.
    init?(_ arguments: some Collection<String>) {
        var arguments = Array(arguments)[...]
        guard let first = arguments.popFirst(), let seed = UInt64(first) else { return nil }
        self.seed = seed
        while let argument = arguments.popFirst() {
            switch argument {
            case "--print": isPrinted = true
            case "--logs": hasLogs = true
            case "--hours":
                guard let value = arguments.popFirst().flatMap(Double.init), value > 0 else { return nil }
                hours = value
            case "--devices":
                guard let value = arguments.popFirst().flatMap(Int.init), value > 0 else { return nil }
                devices = value
            case "--lines":
                guard let value = arguments.popFirst().flatMap(Int.init), value > 0 else { return nil }
                lines = value
            case "--shrink":
                guard let value = arguments.popFirst().flatMap(Int.init), value > 0 else { return nil }
                shrinkingRuns = value
            case "--break":
                guard let value = arguments.popFirst().flatMap(World.Break.init) else { return nil }
                broken = value
            case "--record":
                guard let value = arguments.popFirst() else { return nil }
                record = value
            case "--without":
                guard let value = arguments.popFirst(), let numbers = Self.numbers(value) else { return nil }
                without = numbers
            default: return nil
            }
        }
    }

    /// Numbers and ranges of numbers: `3,5-9`.
    private static func numbers(_ text: String) -> Set<Int>? {
        var numbers: Set<Int> = []
        for part in text.split(separator: ",") {
            let ends = part.split(separator: "-").map { Int($0) }
            guard let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last else { return nil }
            numbers.formUnion(first...last)
        }
        return numbers
    }

    /// Numbers as ranges.
    static func text(_ numbers: Set<Int>) -> String {
        var ranges: [ClosedRange<Int>] = []
        for number in numbers.sorted() {
            if let last = ranges.last, last.upperBound == number - 1 {
                ranges[ranges.count - 1] = last.lowerBound...number
            } else {
                ranges.append(number...number)
            }
        }
        return ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    }

    /// Makes an empty folder, whose path is the same in each run of a seed; waits for the end of another run of it.
    private static func makeFolder(for seed: UInt64) throws -> String {
        let temporary = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : "/tmp"
        let folder = "\(temporary)/powersync-simulation-\(seed)"
        // The lock goes with the process.
        let lock = open(folder + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        if FileManager.default.fileExists(atPath: folder) { try FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Runs the world in this process, once.
    ///
    /// - Returns: Whether nothing has happened that must not.
    func run() throws -> Bool {
        var options = World.Options(seed: seed, folder: try Self.makeFolder(for: seed))
        (options.hours, options.devices, options.without) = (hours, devices, without)
        (options.isPrinted, options.hasLogs, options.broken) = (isPrinted, hasLogs, broken)
        let started = clock()
        let runtime = SimulatedRuntime.begin(seed: seed)
        if let record { try runtime.record(to: record) }
        let world = try World(options, runtime: runtime)
        let isWell = world.run()
        simulation_end_record()
        try? FileManager.default.removeItem(atPath: options.folder)
        unlink(options.folder + ".lock")
        if !isWell {
            if !isPrinted { print(world.timeline.last(lines).joined(separator: "\n")) }
            for violation in world.violations { print("violation: \(violation)") }
        }
        let trace = String(runtime.trace, radix: 16)
        print("seed \(seed): \(isWell ? "well" : "NOT WELL"), \(world.summary), trace \(trace)")
        let seconds = Double(clock() - started) / Double(CLOCKS_PER_SEC)
        print("\(runtime.now / 1_000_000_000) virtual seconds in \(Int(seconds * 1000)) ms")
        fflush(nil)
        return isWell
    }

    /// Finds the steps that are needed for a failure, each run in a process of its own.
    func shrink(_ runs: Int) throws {
        let lines = try child(without: without).output.split(separator: "\n")
        guard let summary = lines.last(where: { $0.hasPrefix("seed ") }), summary.contains("NOT WELL") else {
            print("The seed does not fail.")
            return
        }
        let steps =
            summary.split(separator: " ").compactMap { $0.hasPrefix("steps=") ? Int($0.dropFirst(6)) : nil }.first ?? 0
        var shrinker = Shrinker(budget: runs) { try child(without: $0.union(without)).fails }
        let needed = try shrinker.steps(of: steps)
        let left = Set(0..<steps).subtracting(needed).union(without)
        print("Needed of \(steps) steps: \(Self.text(Set(needed).subtracting(without)))")
        print(try child(without: left, lines: Self.shrunkLines).output)
        print("simulate \(seed) --hours \(hours) --devices \(devices) --without \(Self.text(left))")
    }

    /// How much of the timeline of a shrunk run is printed: all of it, nearly always.
    private static let shrunkLines = 1000

    private func child(without: Set<Int>, lines: Int = 80) throws -> (output: String, fails: Bool) {
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["\(seed)", "--hours", "\(hours)", "--devices", "\(devices)", "--lines", "\(lines)"]
        if !without.isEmpty { process.arguments?.append(contentsOf: ["--without", Self.text(without)]) }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (String(decoding: data, as: UTF8.self), process.terminationStatus != 0)
    }
}
