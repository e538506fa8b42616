import Foundation
import MySQLTestSupport
import Testing

@testable import PowerSyncServiceMySQL

/// Names of tables as files.
@Suite struct FileNameEncodingTests {
    @Test(arguments: [
        ("lists", "lists"), ("Lists_2", "Lists_2"), ("Ünï-x.y", "@1On@0v@002dx@002ey"), ("a#p#b", "a@0023p@0023b"),
        ("日", "@65e5"), ("", ""), ("😀", "@d83d@de00"),
    ])
    func namesAreEncoded(_ name: String, _ file: String) {
        #expect(FileNameEncoding.encoded(name) == file)
    }

    /// MariaDB converts each character; MySQL has names as files in its list of tables only.
    @Test func eachCharacterIsEncodedAsTheServerDoes() async throws {
        let database = try await TestMySQLDatabase()
        let points = (1...0xFFFD).compactMap { Unicode.Scalar(UInt32($0)) }
        if TestMySQL.isMySQL {
            // A name of a file has up to 255 bytes.
            let letters = points.filter { $0.properties.isAlphabetic && !$0.isASCII && $0.value < 0x2500 }
            for start in stride(from: 0, to: letters.count, by: 40) {
                let name = String(String.UnicodeScalarView(letters[start..<min(start + 40, letters.count)]))
                try await database.run("CREATE TABLE \(MySQLText.identifier(name)) (id INT PRIMARY KEY)")
                let file = "\(FileNameEncoding.encoded(database.name))/\(FileNameEncoding.encoded(name))"
                let found = try await database.run(
                    "SELECT COUNT(*) FROM information_schema.INNODB_TABLES WHERE BINARY NAME = \(MySQLText.literal(file))"
                )
                #expect(found == [["1"]], "\(name)")
                try await database.run("DROP TABLE \(MySQLText.identifier(name))")
            }
            return
        }
        for start in stride(from: 0, to: points.count, by: 2000) {
            let part = points[start..<min(start + 2000, points.count)]
            let columns = part.map { point in
                let bytes = String(point).utf8.map { String(format: "%02X", $0) }.joined()
                return "CAST(CONVERT(_utf8mb4 X'\(bytes)' USING filename) AS BINARY)"
            }
            let row = try await database.run("SELECT \(columns.joined(separator: ", "))")[0]
            for (point, encoded) in zip(part, row) {
                #expect(FileNameEncoding.encoded(String(point)) == encoded, "\(String(point.value, radix: 16))")
            }
        }
    }
}
