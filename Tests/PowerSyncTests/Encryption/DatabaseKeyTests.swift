import Foundation
import PowerSyncCoreTestSupport
import TestSupport
import Testing

@testable import PowerSyncClient

/// What a key may be, and what is said where there is no cipher.
@Suite(.timeLimit(.minutes(1))) struct DatabaseKeyTests {
    @Test(arguments: [
        ("", "is empty"), ("a\0b", "NUL"), ("\0", "NUL"),
        ("x'\(String(repeating: "0a", count: 32))'", "form of bytes"),
        ("x'\(String(repeating: "F9", count: 48))'", "form of bytes"),
    ])
    func passphrasesThatALibraryWouldTakeForAnotherKeyAreRefused(_ passphrase: String, _ reason: String) {
        let error = #expect(throws: DatabaseKeyError.self) { try DatabaseKey.passphrase(passphrase) }
        #expect(error?.code == .unusableKey)
        #expect(error?.localizedDescription.contains(reason) == true)
    }

    @Test(arguments: [0, 1, 31, 33, 47, 49, 64])
    func bytesOfAnotherNumberAreRefused(_ count: Int) {
        let error = #expect(throws: DatabaseKeyError.self) { try DatabaseKey.bytes(Data(count: count)) }
        #expect(error?.code == .unusableKey)
        #expect(error?.localizedDescription.contains("has \(count) byte") == true)
    }

    @Test func aPlainHeaderNeedsASalt() throws {
        #expect(throws: DatabaseKeyError.self) { try DatabaseKey.bytes(Data(count: 32), leavesHeaderPlain: true) }
        _ = try DatabaseKey.bytes(Data(count: 48), leavesHeaderPlain: true)
    }

    @Test func aKeyIsNotShown() throws {
        let key = try DatabaseKey.passphrase("open sesame")
        var text = ""
        dump(key, to: &text)
        #expect(!"\(key) \(String(reflecting: key)) \(text)".contains("sesame"))
    }

    @Test(.enabled(if: !TestedCipher.isThere))
    func aLibraryWithoutACipherIsSaidAndNothingIsWritten() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let database = PowerSyncDatabase(
                schema: Schema(),
                dbFilename: path,
                logger: DefaultLogger(writers: []),
                key: { try .passphrase("secret") }
            )
            let error = await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT 1") }
            guard case .operationFailed(_, let cause as DatabaseKeyError) = error, cause.code == .noCipher else {
                Issue.record("unexpected error \(String(describing: error))")
                return
            }
            #expect(error?.code == .cannotOpen)
            try await database.close()
            #expect(try Data(contentsOf: URL(filePath: path)).isEmpty)
            await #expect(throws: PowerSyncError.self) {
                try await DatabaseKey.change(ofFile: path, from: nil, to: .passphrase("secret"))
            }
        }
    }

    @Test func whatTheClosureThrowsComesOutBelow() async throws {
        struct Locked: Error {}
        try await withTemporaryDirectory { directory in
            let database = PowerSyncDatabase(
                schema: Schema(),
                dbFilename: directory.appending(path: "test.db").path,
                logger: DefaultLogger(writers: []),
                key: { throw Locked() }
            )
            for _ in 0..<2 {
                let error = await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT 1") }
                guard case .operationFailed(_, is Locked) = error else {
                    Issue.record("unexpected error \(String(describing: error))")
                    return
                }
            }
            try await database.close()
        }
    }

    @Test func theKeyOfAMissingFileCannotBeChanged() async throws {
        let error = await #expect(throws: PowerSyncError.self) {
            try await DatabaseKey.change(ofFile: "/nowhere/app.db", from: nil, to: nil)
        }
        #expect(error?.code == .cannotOpen)
    }
}
