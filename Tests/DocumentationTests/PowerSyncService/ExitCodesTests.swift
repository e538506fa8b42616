import Foundation
import Testing

/// The table "Exit codes" of `docs/operating.md` has every command, and the codes that the commands exit with.
@Suite struct ExitCodesTests {
    /// A command as its source has it.
    private struct Command {
        let name: String
        let source: String

        /// Whether it throws an exit code of its own that stands for 2.
        var exitsWithTwo: Bool { source.contains(/throw (?:\w+\.)?un(?:reachable|readable)\b/) }
    }

    /// What a row says of 0, 1 and 2.
    private let rows: [String: [String]]
    private let commands: [Command]

    init() throws {
        var rows: [String: [String]] = [:]
        let page = try Page(path: "docs/operating.md").text
        let section = try #require(page.firstRange(of: "\n## Exit codes\n"))
        for line in Page.lines(String(page[section.upperBound...])).prefix(while: { !$0.hasPrefix("## ") }) {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            // Four cells, and what is before the first bar and after the last.
            guard cells.count == 6, cells[1].hasPrefix("`") else { continue }
            for name in cells[1].matches(of: /`([a-z -]+)`/) { rows[String(name.1)] = Array(cells[2...4]) }
        }
        self.rows = rows
        // What the languages of `generate` have in common.
        let inputs = try Page.files(in: "Sources/PowerSyncCLI/Generate", withExtension: "swift")
            .first { $0.lastPathComponent == "GenerateInputs.swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
        commands = try ["CLI", "Demo", "Generator", "Inspection"].flatMap { module in
            try Page.files(in: "Sources/PowerSync\(module)", withExtension: "swift").compactMap { file -> Command? in
                let source = try String(contentsOf: file, encoding: .utf8)
                guard let name = source.firstMatch(of: /commandName: "([a-z-]+)"/)?.1, !source.contains("subcommands:")
                else { return nil }
                guard name == "swift" else { return Command(name: String(name), source: source) }
                return Command(name: "generate swift", source: source + (inputs ?? ""))
            }
        }
    }

    @Test func everyCommandHasARow() {
        #expect(commands.count > 10)
        #expect(commands.map(\.name).filter { rows[$0] == nil } == [])
    }

    @Test func aRowSaysWhenACommandExitsWithZeroOneAndTwo() {
        for command in commands {
            guard let row = rows[command.name] else { continue }
            #expect(!row[0].isEmpty, "\(command.name)")
            #expect(!row[1].isEmpty, "\(command.name)")
            #expect(row[2].isEmpty != command.exitsWithTwo, "\(command.name)")
        }
        #expect(commands.contains { $0.exitsWithTwo })
    }

    @Test func noCommandExitsWithAnotherNumber() {
        let numbers = commands.flatMap { command in command.source.matches(of: /ExitCode\((\d+)\)/).map { $0.1 } }
        #expect(Set(numbers) == ["2"])
    }
}
