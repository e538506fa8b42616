import Foundation
import NIOConcurrencyHelpers

/// Writes lines to standard output, with one line at the bottom that can be drawn again and again.
///
/// On a terminal the bottom line is overwritten in place; elsewhere (a pipe, CI) only its last state is printed, so
/// that logs stay short.
final class Terminal: Sendable {
    private struct State {
        /// The drawn but not yet finished bottom line.
        var openLine: String?
    }

    /// Whether standard output is a terminal, where somebody reads it now.
    static var isOnTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Says a line at once: `print` would keep it in a buffer when the output is a pipe.
    static func say(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    private let isInteractive: Bool
    private let state = NIOLockedValueBox(State())

    /// Creates a terminal on standard output.
    ///
    /// - Parameter plain: Never overwrite lines, even on a terminal.
    init(plain: Bool) {
        isInteractive = !plain && Self.isOnTerminal
    }

    /// Prints a line below everything else.
    func line(_ text: String = "") {
        state.withLockedValue { state in
            finishOpenLine(&state)
            write(text + "\n")
        }
    }

    /// Prints the title of a step.
    func heading(_ text: String) {
        line()
        line(isInteractive ? "\u{1B}[1m\(text)\u{1B}[0m" : text)
    }

    /// Prints a table.
    func table(_ table: TextTable) {
        for line in table.lines {
            self.line(line)
        }
    }

    /// Draws the bottom line, over the one that is there.
    func redraw(_ text: String) {
        state.withLockedValue { state in
            state.openLine = text
            if isInteractive {
                write("\r\u{1B}[K" + text)
            }
        }
    }

    /// Leaves the bottom line as it is and goes on below it.
    func finishLine() {
        state.withLockedValue { finishOpenLine(&$0) }
    }

    private func finishOpenLine(_ state: inout State) {
        guard let text = state.openLine else { return }
        write(isInteractive ? "\n" : text + "\n")
        state.openLine = nil
    }

    private func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
