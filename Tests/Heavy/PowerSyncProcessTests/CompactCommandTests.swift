import Foundation
import TestSupport
import Testing

/// `powersync compact` as people and scripts run it (docs/operating.md).
@Suite(.timeLimit(.minutes(3))) struct CompactCommandTests {
    private static let config = "app/powersync.yaml"
    private static let beginning = "Compacting …"
    private static let names = [
        "operations without their row", "operations replaced by one", "parameter entries deleted",
        "checkpoint requests deleted",
    ]

    private let folder: TemporaryFolder

    init() async throws {
        folder = try TemporaryFolder()
        _ = try await CommandRun(["init", "app", "--port", "\(FreePort.take())"], in: folder)
    }

    private func compact() async throws -> CommandRun {
        try await CommandRun(["compact", "--config", Self.config], in: folder)
    }

    /// The numbers that were printed, in the order of the names.
    private func numbers(_ run: CommandRun) throws -> [Int] {
        let lines = run.text.split(separator: "\n").drop { $0 == Self.beginning }
        try #require(lines.count == Self.names.count, "\(run)")
        return try zip(lines, Self.names).map { line, name in
            #expect(line.hasPrefix("\(name)  "), "\(line)")
            return try #require(Int(line.dropFirst(name.count).trimmingCharacters(in: .whitespaces)), "\(line)")
        }
    }

    /// A life of a service in which a row is written, once with each name.
    ///
    /// - Returns: What the stream of the user has shown in the end, and before.
    private func write(_ names: String...) async throws -> String {
        let url = URL(filePath: folder.path("app"), directoryHint: .isDirectory)
        let service = try ShellLine("powersync dev", in: url)
        let commands = DevelopmentLines(await service.lines { DevelopmentLines.isLast($0) })
        let stream = try ShellLine(try #require(commands.stream(of: "user-1")), in: url)
        var lines = await stream.lines { $0.contains(#"{"checkpoint_complete""#) }
        for name in names {
            let body = url.appending(path: "data/dev/write.json")
            let text = try String(contentsOf: body, encoding: .utf8)
            try text.replacing("A new name", with: name).write(to: body, atomically: true, encoding: .utf8)
            let write = try ShellLine(try #require(commands.write(as: "user-1")), in: url)
            #expect(await write.lines().joined().contains(#""applied":1"#))
            try text.write(to: body, atomically: true, encoding: .utf8)
            lines += await stream.lines { $0.contains(name) }
            #expect(lines.last?.contains(name) == true)
        }
        await stream.end(by: SIGKILL)
        #expect(await service.end() == 0)
        return lines.joined(separator: "\n")
    }

    @Test func withoutAStorageItSaysSoAndMakesNone() async throws {
        let run = try await compact()
        #expect(run.status == 1)
        #expect(run.errors.contains("storage.path: There is no bucket storage at"), "\(run)")
        #expect(run.errors.contains("buckets.db"))
        #expect(run.text == Self.beginning)
        #expect(!FileManager.default.fileExists(atPath: folder.path("app/data")))
    }

    @Test func itSaysWhatItHasDoneAndAtOnceAfterwardsNothing() async throws {
        _ = try await write("Name 1", "Name 2", "Name 3")
        let first = try await compact()
        #expect(first.status == 0, "\(first)")
        // The first two of them are the past.
        #expect(try numbers(first)[0] == 2, "\(first)")
        let second = try await compact()
        #expect(second.status == 0, "\(second)")
        #expect(try numbers(second) == [0, 0, 0, 0])
    }

    @Test
    func whoeverEndsItDoesNoHarmAndTheNextOneDoesTheRest() async throws {
        _ = try await write("Name 1", "Name 2", "Name 3")
        let command = try RunningCommand(["compact", "--config", folder.path(Self.config)])
        try await command.wait(for: Self.beginning)
        // Harder than SIGTERM, which tests pass on as blocked to what does not handle it.
        command.signal(SIGKILL)
        _ = await command.waitForExit()
        let next = try await compact()
        #expect(next.status == 0, "\(next)")
        #expect(try numbers(try await compact()) == [0, 0, 0, 0])
        let shown = try await write()
        #expect(shown.contains("Name 3") && shown.contains("Bread"), "\(shown)")
        #expect(!shown.contains("Name 2"))
    }
}
