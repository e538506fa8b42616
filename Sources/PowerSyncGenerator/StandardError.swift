import Foundation

/// Prints a line where errors and notes go.
///
/// - Parameter line: Without its end.
package func printToStandardError(_ line: String) {
    FileHandle.standardError.write(Data("\(line)\n".utf8))
}
