import Foundation
import Testing

@testable import PowerSyncTerminal

/// Output that cannot be written, as on a full disk or into a pipe that nobody reads.
@Suite struct UnwritableOutputTests {
    /// A file that is open for reading only.
    private let output: FileHandle

    init() throws {
        output = try #require(FileHandle(forReadingAtPath: "/dev/null"))
    }

    @Test func aResultThatCannotBePrintedIsAnError() throws {
        let error = try #require(throws: UnwritableOutput.self) { try StandardOutput.print("result", to: output) }
        #expect(error.description.hasPrefix("The output cannot be written: "))
    }

    @Test func whatIsSaidBesideAResultGetsLost() {
        Terminal.say("The service is ready.", on: output)
        printToStandardError("note: a note", to: output)
    }

    @Test func theDemoEnds() {
        let terminal = Terminal(plain: true, output: output)
        #expect(throws: UnwritableOutput.self) { try terminal.line("line") }
        #expect(throws: UnwritableOutput.self) { try terminal.heading("heading") }
        #expect(throws: UnwritableOutput.self) { try terminal.table(TextTable(header: ["column"])) }
        // Drawn on terminals only; elsewhere it is printed when it is left.
        #expect(throws: Never.self) { try terminal.redraw("bar") }
        #expect(throws: UnwritableOutput.self) { try terminal.finishLine() }
    }
}
