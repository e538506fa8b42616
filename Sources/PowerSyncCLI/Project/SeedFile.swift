import Foundation
import PowerSyncServiceCore

/// SQL statements with the rows that development begins with.
struct SeedFile {
    /// The path, for people.
    let path: String

    /// A file that somebody has named.
    init(_ path: String) {
        self.path = path
    }

    /// `seed.sql` beside a service configuration; `nil` if there is none.
    static func beside(_ configuration: String) -> SeedFile? {
        let path = URL(filePath: configuration).deletingLastPathComponent().appending(path: "seed.sql")
            .path(percentEncoded: false)
        return FileManager.default.fileExists(atPath: path) ? SeedFile(path) : nil
    }

    /// Why rows were not inserted; none were.
    struct Refused: Error, CustomStringConvertible {
        let path: String
        let reason: String

        var description: String { "\(path): \(reason). No row of it was inserted." }
    }

    /// Inserts the rows, all of them in one transaction, unless there are rows already.
    ///
    /// - Parameter database: The source.
    /// - Returns: Whether rows were inserted.
    /// - Throws: ``Refused``, or an error of the database.
    func insert(into database: any DevelopmentDatabase) async throws -> Bool {
        let statements: String
        do {
            statements = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw Refused(path: path, reason: "the file cannot be read")
        }
        do {
            return try await database.insert(statements)
        } catch let error as DevelopmentDatabaseError {
            throw Refused(path: path, reason: error.message)
        }
    }
}
