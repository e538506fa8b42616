import GRDB
import PowerSyncUpload
import Testing

@testable import PowerSyncBackend

/// Uploads with halves of surrogate pairs, as JavaScript writes texts that were cut within a character.
@Suite(.timeLimit(.minutes(1))) struct HalvedEntriesTests {
    private static func request(_ entries: String..., client: String = #""c1""#) throws -> UploadRequest {
        try UploadRequest(json: #"{"client_id":\#(client),"data":[\#(entries.joined(separator: ","))]}"#.utf8)
    }

    @Test func inAValueTheyAreReplaced() async throws {
        let scenario = try UploadScenario()
        let request = try Self.request(
            #"{"op_id":1,"op":"PUT","type":"lists","id":"a","data":{"name":"Ann \ud83d","owner_id":"\ud83d\ude00"},"metadata":"\ude00"}"#,
            #"{"op_id":2,"op":"PATCH","type":"lists","id":"a","data":{"owner_id":"[\"\ud83d\"]"},"old":{"name":"\ude00"}}"#
        )
        #expect(request.rejections.isEmpty)
        #expect(request.entries.map(\.metadata) == ["\u{fffd}", nil])
        let response = try await scenario.applier.apply(request, for: BackendUser(id: "u"))
        #expect(response.appliedThrough == 2 && response.rejections.isEmpty)
        let row = try await scenario.database.read { db in
            try String.fetchOne(db, sql: "SELECT name || ' ' || owner_id FROM lists")
        }
        #expect(row == "Ann \u{fffd} [\"\u{fffd}\"]")
    }

    @Test(arguments: [
        #""type":"lists","id":"b\ud83d","data":{}"#, #""type":"lists\ud83d","id":"b","data":{}"#,
        #""type":"lists","id":"b","data":{"name\ud83d":1}"#, #""type":"lists","id":"b","data":{"x":{"y\ude00":1}}"#,
        #""type":"lists","id":"b","data":{},"old":{"name\ud83d":1}"#,
    ])
    func inANameTheyAreRejected(_ members: String) async throws {
        let scenario = try UploadScenario()
        let good = #"{"op_id":1,"op":"PUT","type":"lists","id":"a","data":{"name":"A"}}"#
        let last = #"{"op_id":3,"op":"PUT","type":"lists","id":"c","data":{"name":"C"}}"#
        let request = try Self.request(good, #"{"op_id":2,"op":"PUT",\#(members)}"#, last)
        #expect(request.rejections.map(\.operationID) == [2])
        let response = try await scenario.applier.apply(request, for: BackendUser(id: "u"))
        #expect(response.appliedThrough == 1)
        #expect(response.rejections.map(\.operationID) == [2])
        #expect(response.rejections.first?.code == .malformed && response.rejections.first?.isPermanent == true)
        // The client leaves it out, and its queue goes on.
        let rest = try await scenario.applier.apply(try Self.request(last), for: BackendUser(id: "u"))
        #expect(rest.appliedThrough == 3)
        let ids = try await scenario.database.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM lists ORDER BY id")
        }
        #expect(ids == ["a", "c"])
    }

    @Test func aClientIsNobodyThen() {
        let error = #expect(throws: UploadFormatError.self) { _ = try Self.request(client: #""c\ud83d""#) }
        #expect(error?.message.contains("half a surrogate pair") == true)
    }
}
