import MySQLBinlog
import MySQLTestSupport
import PowerSyncMySQLConnection
import Testing

@testable import PowerSyncServiceMySQL

/// Texts of keys that the server converts.
@Suite(.timeLimit(.minutes(1))) struct KeyConversionsTests {
    @Test func theServerConvertsWhatItCan() async throws {
        let gbk = DeferredCell.text([0xBA, 0xBA, 0xD7, 0xD6], charset: "gbk")
        let greek = DeferredCell.text([0xE1], charset: "greek")
        let noText = DeferredCell.text([0xBA], charset: "gbk")
        let noCharset = DeferredCell.text([0x61], charset: "x' y")
        var conversions = KeyConversions()
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        try await conversions.add([gbk, greek, noText, noCharset, .form], connection)
        #expect(conversions.cell(.deferred(gbk)) == .text("汉字"))
        #expect(conversions.cell(.deferred(greek)) == .text("α"))
        for other in [noCharset, .form] { #expect(conversions.cell(.deferred(other)) == nil) }
        #expect(conversions.cell(.integer(7)) == .integer(7))
        #expect(connection.isUsable)
    }

    @Test func oneEventMayHaveMoreThanIsKept() async throws {
        let cells = (0..<5000).map { DeferredCell.text(Array("k\($0)".utf8), charset: "gbk") }
        var conversions = KeyConversions()
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        try await conversions.add([cells[0]], connection)
        try await conversions.add(Set(cells), connection)
        #expect(cells.indices.allSatisfy { conversions.cell(.deferred(cells[$0])) == .text("k\($0)") })
        conversions.forgetIfMany()
        #expect(conversions.cell(.deferred(cells[0])) == nil)
    }
}
