import GRDB
import GRDBSQLite
import PowerSyncSQLite
import Testing

/// What a bound value is for SQLite, and how it is read.
@Suite struct BindingTests {
    /// A value, how it is bound, and what SQLite makes of it.
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let storageClass: PreparedStatement.StorageClass
        /// What SQLite's `quote` writes.
        let literal: String
        /// The bytes of the value as a text or blob.
        let bytes: [UInt8]
        let bind: @Sendable (PreparedStatement) -> CInt

        init(
            _ name: String,
            _ storageClass: PreparedStatement.StorageClass,
            _ literal: String,
            _ bytes: [UInt8] = [],
            _ bind: @escaping @Sendable (PreparedStatement) -> CInt
        ) {
            testDescription = name
            self.storageClass = storageClass
            self.literal = literal
            self.bytes = bytes
            self.bind = bind
        }
    }

    static let cases = [
        Case("NULL", .null, "NULL") { $0.bindNull(at: 1) },
        Case("no text", .null, "NULL") { $0.bind(text: nil, at: 1, .copied) },
        Case("the largest integer", .integer, "9223372036854775807", Array("9223372036854775807".utf8)) {
            $0.bind(.max, at: 1)
        },
        Case("the smallest integer", .integer, "-9223372036854775808", Array("-9223372036854775808".utf8)) {
            $0.bind(.min, at: 1)
        },
        Case("a double", .real, "1.5", Array("1.5".utf8)) { $0.bind(1.5, at: 1) },
        Case("NaN", .null, "NULL") { $0.bind(Double.nan, at: 1) },
        Case("a string", .text, "'ä'", [0xc3, 0xa4]) { $0.bind("ä", at: 1) },
        Case("an empty string", .text, "''") { $0.bind("", at: 1) },
        Case("bytes of a text", .text, "'it''s'", Array("it's".utf8)) { statement in
            Array("it's".utf8).withUnsafeBytes { statement.bind(text: $0, at: 1, .copied) }
        },
        Case("an empty text", .text, "''") {
            $0.bind(text: UnsafeRawBufferPointer(start: nil, count: 0), at: 1, .copied)
        },
        Case("an empty text in place", .text, "''") {
            $0.bind(text: UnsafeRawBufferPointer(start: nil, count: 0), at: 1, .inPlace)
        },
        Case("bytes of a blob", .blob, "X'00FF'", [0, 0xff]) { statement in
            [UInt8]([0, 0xff]).withUnsafeBytes { statement.bind(blob: $0, at: 1, .copied) }
        },
        Case("an empty blob", .blob, "X''") {
            $0.bind(blob: UnsafeRawBufferPointer(start: nil, count: 0), at: 1, .copied)
        },
    ]

    @Test(arguments: cases)
    func aValueKeepsItsStorageClass(_ test: Case) throws {
        let connection = try PlainConnection()
        let statement = try #require(try PreparedStatement(preparing: "SELECT ?1, quote(?1)", on: connection.handle))
        #expect(statement.parameterCount == 1)
        #expect(test.bind(statement) == SQLITE_OK)
        #expect(try statement.step())
        #expect(statement.storageClass(at: 0) == test.storageClass)
        #expect(statement.isNull(at: 0) == (test.storageClass == .null))
        #expect(statement.string(at: 1) == test.literal)
        if test.storageClass == .blob {
            #expect(Array(statement.blob(at: 0)) == test.bytes)
        } else {
            #expect(statement.text(at: 0).map { Array($0) } == (test.storageClass == .null ? nil : test.bytes))
        }
        #expect(statement.byteCount(at: 0) == test.bytes.count)
    }

    @Test func numbersAreReadAsSuch() throws {
        let connection = try PlainConnection()
        let statement = try #require(try PreparedStatement(preparing: "SELECT ?1, ?2, NULL", on: connection.handle))
        statement.bind(.min, at: 1)
        statement.bind(-0.5, at: 2)
        #expect(try statement.step())
        #expect(statement.columnCount == 3)
        #expect(statement.integer(at: 0) == .min)
        #expect(statement.double(at: 1) == -0.5)
        #expect(statement.integer(at: 2) == 0)
        #expect(statement.double(at: 2) == 0)
        #expect(statement.blob(at: 2).isEmpty)
        #expect(statement.string(at: 2) == nil)
    }

    @Test func aNULIsPartOfTheText() throws {
        let connection = try PlainConnection()
        let statement = try #require(
            try PreparedStatement(preparing: "SELECT ?1, length(CAST(?1 AS BLOB))", on: connection.handle)
        )
        for bind in [
            { _ = statement.bind("a\0b\0", at: 1) },
            { "a\0b\0".utf8.withContiguousStorageIfAvailable { _ = statement.bind(text: .init($0), at: 1, .copied) } },
        ] {
            bind()
            #expect(try statement.step())
            #expect(statement.integer(at: 1) == 4)
            #expect(statement.text(at: 0).map { Array($0) } == Array("a\0b\0".utf8))
            #expect(statement.string(at: 0) == "a\0b\0")
            statement.reset()
        }
    }

    @Test func whatIsNotUTF8StaysAsItIs() throws {
        let connection = try PlainConnection()
        let statement = try #require(try PreparedStatement(preparing: "SELECT ?1", on: connection.handle))
        _ = [UInt8]([0x61, 0xff]).withUnsafeBytes { statement.bind(text: $0, at: 1, .copied) }
        #expect(try statement.step())
        #expect(statement.text(at: 0).map { Array($0) } == [0x61, 0xff])
        #expect(statement.string(at: 0) == "a\u{fffd}")
    }

    @Test func copiedBytesMayChangeAfterwardsAndThoseInPlaceAreReadInPlace() throws {
        let connection = try PlainConnection()
        let sql = "SELECT ?1, ?2, ?3, ?4"
        let statement = try #require(try PreparedStatement(preparing: sql, on: connection.handle))
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 6, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: "before".utf8)
        let bytes = UnsafeRawBufferPointer(memory)
        statement.bind(text: bytes, at: 1, .copied)
        statement.bind(blob: bytes, at: 2, .copied)
        statement.bind(text: bytes, at: 3, .inPlace)
        statement.bind(blob: bytes, at: 4, .inPlace)
        memory.copyBytes(from: "after!".utf8)
        #expect(try statement.step())
        #expect((0..<4).map { statement.string(at: $0) } == ["before", "before", "after!", "after!"])
        statement.reset()
    }

    @Test(arguments: ["UTF-8", "UTF-16le", "UTF-16be"])
    func theBytesOfATextAreUTF8(encoding: String) throws {
        let connection = try PlainConnection()
        try connection.run("PRAGMA encoding = '\(encoding)'")
        let sql = "SELECT 'é' || ?1, '', x'00ff', hex('é')"
        let statement = try #require(try PreparedStatement(preparing: sql, on: connection.handle))
        statement.bind("麵包\0🥖", at: 1)
        #expect(try statement.step())
        #expect(Array(statement.blob(at: 0)) == Array("é麵包\0🥖".utf8))
        #expect(statement.blob(at: 1).isEmpty)
        #expect(Array(statement.blob(at: 2)) == [0, 0xff])
        #expect(statement.string(at: 3) == ["UTF-8": "C3A9", "UTF-16le": "E900", "UTF-16be": "00E9"][encoding])
    }

    @Test func aCheckedTextIsBoundAsAWholeOrIsAnError() throws {
        let connection = try PlainConnection()
        let statement = try #require(try PreparedStatement(preparing: "SELECT ?1, ?2", on: connection.handle))
        sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, 100)
        let longest = String(repeating: "x", count: 100)
        try statement.bind(checkedText: longest, at: 1)
        let error = try #require(throws: DatabaseError.self) { try statement.bind(checkedText: longest + "x", at: 2) }
        #expect(error.resultCode == .SQLITE_TOOBIG)
        #expect(error.sql == "SELECT ?1, ?2")
        // What was bound before is forgotten.
        #expect(try statement.step())
        #expect(statement.isNull(at: 0))
        statement.reset()
    }

    @Test func whatCannotBeBoundIsToldByTheResultCode() throws {
        let connection = try PlainConnection()
        let statement = try #require(try PreparedStatement(preparing: "SELECT ?1", on: connection.handle))
        #expect(statement.bind(Int64(1), at: 2) == SQLITE_RANGE)
        sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, 100)
        #expect(statement.bind(String(repeating: "x", count: 101), at: 1) == SQLITE_TOOBIG)
        #expect(try statement.step())
        #expect(statement.isNull(at: 0))
    }
}
