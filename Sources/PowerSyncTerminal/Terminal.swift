package import Foundation
import NIOConcurrencyHelpers

/// Writes lines to standard output, with one line at the bottom that can be drawn again and again.
///
/// On a terminal the bottom line is overwritten in place; elsewhere (a pipe, CI) only its last state is printed, so
/// that logs stay short. Printing throws `UnwritableOutput` when the reader has gone.
package final class Terminal: Sendable {
    private struct State {
        /// The drawn but not yet finished bottom line.
        var openLine: String?
    }

    /// Whether standard output is a terminal.
    package static var isOnTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Makes a write to an output without a reader throw an error, instead of ending the process.
    package static func outlivesItsReaders() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Says a line at once; one that cannot be written is lost, and the command goes on.
    package static func say(_ text: String, on output: FileHandle = .standardOutput) {
        try? StandardOutput.print(text, to: output)
    }

    private let output: FileHandle
    private let isInteractive: Bool
    private let state = NIOLockedValueBox(State())

    /// Creates a terminal on standard output.
    ///
    /// - Parameters:
    ///   - plain: Never overwrite lines, even on a terminal.
    ///   - output: Another output.
    package init(plain: Bool, output: FileHandle = .standardOutput) {
        self.output = output
        isInteractive = !plain && Self.isOnTerminal
    }

    /// Prints a line below everything else.
    package func line(_ text: String = "") throws {
        try state.withLockedValue { state in
            try finishOpenLine(&state)
            try write(TerminalText.escaped(text) + "\n")
        }
    }

    /// Prints the title of a step.
    package func heading(_ text: String) throws {
        try line()
        guard isInteractive else { return try line(text) }
        try state.withLockedValue { state in
            try finishOpenLine(&state)
            try write("\u{1B}[1m\(TerminalText.line(text))\u{1B}[0m\n")
        }
    }

    /// Prints a table.
    package func table(_ table: TextTable) throws {
        for line in table.lines {
            try self.line(line)
        }
    }

    /// Draws the bottom line, over the one that is there.
    package func redraw(_ text: String) throws {
        try state.withLockedValue { state in
            let text = TerminalText.line(text)
            state.openLine = text
            if isInteractive {
                try write("\r\u{1B}[K" + text)
            }
        }
    }

    /// Leaves the bottom line as it is and goes on below it.
    package func finishLine() throws {
        try state.withLockedValue { try finishOpenLine(&$0) }
    }

    private func finishOpenLine(_ state: inout State) throws {
        guard let text = state.openLine else { return }
        try write(isInteractive ? "\n" : text + "\n")
        state.openLine = nil
    }

    private func write(_ text: String) throws {
        try StandardOutput.write(text, to: output)
    }
}
