import ArgumentParser
import Foundation
import PowerSync
import PowerSyncCoreTestSupport
import TestSupport
import Testing

@testable import PowerSyncInspection

/// Keys on the command line, and encrypted files over SQLCipher: `scripts/test-sqlite sqlcipher`.
@Suite(.timeLimit(.minutes(1))) struct EncryptedFileTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path("client.db") }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func makeFile(_ key: (@Sendable () throws -> DatabaseKey)?) async throws {
        let schema = Schema(Table(name: "lists", columns: [.text("name")]))
        let logger = DefaultLogger(writers: [])
        let database =
            if let key {
                PowerSyncDatabase(schema: schema, dbFilename: path, logger: logger, key: key)
            } else {
                PowerSyncDatabase(schema: schema, dbFilename: path, logger: logger)
            }
        try await database.execute("INSERT INTO lists (id, name) VALUES ('a', 'Groceries')")
        try await database.close()
    }

    private func report(_ arguments: String...) throws -> DatabaseReport {
        let command = try InspectCommand.parse([path] + arguments)
        return try Inspection.report(of: ClientFile(path: path, key: command.givenKey()), showsRows: false)
    }

    private func expectRefusal(
        _ code: ClientFileError.Code,
        _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let command = try InspectCommand.parse([path] + arguments)
        let error = #expect(throws: ClientFileError.self, sourceLocation: sourceLocation) {
            try Inspection.report(of: ClientFile(path: path, key: command.givenKey()), showsRows: false)
        }
        #expect(error?.code == code, sourceLocation: sourceLocation)
        for argument in arguments.dropFirst() where arguments[0] == "--key" && argument.count > 3 {
            #expect(error?.message.contains(argument) == false, "the key is not shown", sourceLocation: sourceLocation)
        }
    }

    @Test func keysThatNoLibraryTakesAreRefused() async throws {
        try await makeFile(nil)
        for key in ["hex:", "hex:0g", "hex:abc", "hex:\(String(repeating: "ab", count: 31))", "hex:ａａ"] {
            try expectRefusal(.unusableKey, "--key=\(key)")
        }
        try expectRefusal(.unreadable, "--key-file", folder.path("missing"))
        try Data("\n".utf8).write(to: URL(filePath: folder.path("key")))
        try expectRefusal(.unusableKey, "--key-file", folder.path("key"))
    }

    @Test(.enabled(if: !TestedCipher.isThere)) func aLibraryWithoutACipherIsSaid() async throws {
        try await makeFile(nil)
        try expectRefusal(.noCipher, "--key", "secret")
    }

    @Test(.enabled(if: TestedCipher.isThere)) func aFileIsReadWithItsKey() async throws {
        try await makeFile { try .passphrase("it's secret") }
        #expect(try report("--key", "it's secret").uploadQueue.writes == 1)
        try Data("it's secret\n".utf8).write(to: URL(filePath: folder.path("key")))
        #expect(try report("--key-file", folder.path("key")).uploadQueue.writes == 1)
        try expectRefusal(.encrypted)
        try expectRefusal(.wrongKey, "--key", "sesame")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")).sorted() == ["client.db", "key"])
    }

    @Test(.enabled(if: TestedCipher.isThere), arguments: [false, true])
    func bytesAreHexadecimalDigits(leavesHeaderPlain: Bool) async throws {
        let bytes = Data(0..<48)
        try await makeFile { try .bytes(bytes, leavesHeaderPlain: leavesHeaderPlain) }
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(try report("--key", "hex:\(digits)").uploadQueue.writes == 1)
    }

    @Test(.enabled(if: TestedCipher.isThere)) func aPlainFileWithAKeyIsSaid() async throws {
        try await makeFile(nil)
        try expectRefusal(.wrongKey, "--key", "secret")
    }
}
