package import Foundation

/// Prints a text where errors and notes go; one that cannot be written is lost, and changes nothing else.
///
/// - Parameters:
///   - text: Without the end of its last line.
///   - handle: Where it goes.
package func printToStandardError(_ text: String, to handle: FileHandle = .standardError) {
    try? StandardOutput.print(text, to: handle)
}
