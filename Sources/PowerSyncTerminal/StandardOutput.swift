package import Foundation

/// Where a command prints what it was asked for.
///
/// Not with `print`, which keeps a text in a buffer and does not tell when it gets lost: the command would exit with 0, and a script
/// would take what has arrived for all of it. Names and values of others are in what is printed, so that everything is escaped here
/// that a terminal would obey.
package enum StandardOutput {
    /// Prints a text at once.
    ///
    /// - Parameters:
    ///   - text: What is printed; its line breaks stay.
    ///   - terminator: What comes after it.
    ///   - handle: Where it goes.
    /// - Throws: ``UnwritableOutput``.
    package static func print(
        _ text: String,
        terminator: String = "\n",
        to handle: FileHandle = .standardOutput
    ) throws(UnwritableOutput) {
        try write(TerminalText.escaped(text) + terminator, to: handle)
    }

    /// Prints lines at once: a line break in one of them is escaped.
    ///
    /// - Parameters:
    ///   - lines: What is printed.
    ///   - handle: Where it goes.
    /// - Throws: ``UnwritableOutput``.
    package static func print(
        lines: [String],
        to handle: FileHandle = .standardOutput
    ) throws(UnwritableOutput) {
        try write(lines.map { TerminalText.line($0) + "\n" }.joined(), to: handle)
    }

    /// Writes a text as it is: for programs that read it, and for what this program itself tells a terminal.
    ///
    /// - Parameters:
    ///   - text: What is written.
    ///   - handle: Where it goes.
    /// - Throws: ``UnwritableOutput``.
    package static func write(
        _ text: String,
        to handle: FileHandle = .standardOutput
    ) throws(UnwritableOutput) {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            throw UnwritableOutput(error)
        }
    }
}

/// A result that cannot be printed, because the disk is full or its reader has gone: the command exits with 1.
package struct UnwritableOutput: Error, CustomStringConvertible {
    package let description: String

    fileprivate init(_ error: any Error) {
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        description = "The output cannot be written: \((cause ?? error as NSError).localizedDescription)"
    }
}
