package import Foundation

/// Prints a line where errors and notes go; one that cannot be written is lost, and changes nothing else.
///
/// - Parameters:
///   - line: Without its end.
///   - handle: Where it goes.
package func printToStandardError(_ line: String, to handle: FileHandle = .standardError) {
    try? StandardOutput.print(line, to: handle)
}
