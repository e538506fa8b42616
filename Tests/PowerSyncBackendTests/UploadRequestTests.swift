import Foundation
import PowerSyncUpload
import Testing

/// The bytes of uploads and answers.
@Suite struct UploadRequestTests {
    private static let entry = UploadEntry(
        operationID: 7,
        op: .patch,
        table: "todos",
        id: "t\u{0}1",
        transactionID: 3,
        data: [
            "real": .double(1), "big": .int(9_007_199_254_740_993), "least": .int(.min), "small": .double(-0.0),
            "tiny": .double(.leastNonzeroMagnitude), "text": .string("\u{2028}é\"\u{0}"), "null": .null,
            "flag": .bool(true),
            "list": .array([.int(1), .double(2)]), "object": .object(["b": .null]),
        ],
        previousValues: ["real": .double(0.1)],
        metadata: "swiped"
    )

    @Test func everythingComesBackAsItWasSent() throws {
        let request = UploadRequest(clientID: "c1", entries: [Self.entry])
        #expect(try UploadRequest(json: request.json) == request)
        let text = String(decoding: request.json, as: UTF8.self)
        #expect(text.contains(#""real":1.0"#) && text.contains("9007199254740993"))
    }

    @Test func codableHasTheSameMembers() throws {
        let data = try JSONEncoder().encode(Self.entry)
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(object.keys.sorted() == ["data", "id", "metadata", "old", "op", "op_id", "tx_id", "type"])
        let decoded = try JSONDecoder().decode(UploadEntry.self, from: data)
        #expect(decoded.operationID == 7 && decoded.op == .patch && decoded.data?["big"] == Self.entry.data?["big"])
    }

    @Test func transactionsAreNeighboursWithOneNumber() {
        func entry(_ number: Int64, _ transaction: Int64?) -> UploadEntry {
            UploadEntry(operationID: number, op: .delete, table: "t", id: "\(number)", transactionID: transaction)
        }
        let request = UploadRequest(
            clientID: nil,
            entries: [entry(1, 1), entry(2, 1), entry(3, nil), entry(4, nil), entry(5, 2), entry(6, 1)]
        )
        #expect(request.transactions.map { $0.map(\.operationID) } == [[1, 2], [3], [4], [5], [6]])
        #expect(UploadRequest(clientID: nil, entries: []).transactions.isEmpty)
    }

    @Test func membersThatNobodyKnowsAndNullsAreLeftAlone() throws {
        let json = #"{"x":1,"client_id":null,"data":[{"op":"PUT","type":"t","id":"a","data":null,"old":null,"y":[]}]}"#
        let request = try UploadRequest(json: json.utf8)
        #expect(
            request
                == UploadRequest(
                    clientID: nil,
                    entries: [
                        UploadEntry(operationID: 1, op: .put, table: "t", id: "a")
                    ]
                )
        )
    }

    struct Wrong: CustomTestStringConvertible, Sendable {
        var json: String
        var message: String
        var testDescription: String { json }
    }

    private static func entry(_ members: String) -> String {
        #"{"client_id":"c","data":[{"op_id":1,"op":"PUT","type":"t","id":"a"},{"# + members + "}]}"
    }

    @Test(arguments: [
        Wrong(json: "", message: "not valid JSON"),
        Wrong(json: "{", message: "not valid JSON"),
        Wrong(json: "[]", message: "must be an object"),
        Wrong(json: "null", message: "must be an object"),
        Wrong(json: "{}", message: "data must be an array"),
        Wrong(json: #"{"data":{}}"#, message: "data must be an array"),
        Wrong(json: #"{"data":"x"}"#, message: "data must be an array"),
        Wrong(json: #"{"client_id":1,"data":[]}"#, message: "client_id"),
        Wrong(json: #"{"client_id":"","data":[]}"#, message: "client_id"),
        Wrong(json: #"{"client_id":"\#(String(repeating: "x", count: 256))","data":[]}"#, message: "client_id"),
        Wrong(json: #"{"data":[1]}"#, message: "data[0]: must be an object"),
        Wrong(json: #"{"data":[null]}"#, message: "data[0]: must be an object"),
        Wrong(json: entry(#""op":"PUT","type":"t","id":"a""#), message: "data[1]: op_id must be"),
        Wrong(json: entry(#""op_id":"2","op":"PUT","type":"t","id":"a""#), message: "data[1]: op_id must be"),
        Wrong(json: entry(#""op_id":2.0,"op":"PUT","type":"t","id":"a""#), message: "data[1]: op_id must be"),
        Wrong(
            json: entry(#""op_id":9223372036854775808,"op":"PUT","type":"t","id":"a""#),
            message: "data[1]: op_id must be"
        ),
        Wrong(json: entry(#""op_id":1,"op":"PUT","type":"t","id":"a""#), message: "data[1]: op_id must be greater"),
        Wrong(json: entry(#""op_id":2,"op":1,"type":"t","id":"a""#), message: "data[1]: op must be"),
        Wrong(json: entry(#""op_id":2,"op":"put","type":"t","id":"a""#), message: "not \"put\""),
        Wrong(json: entry(#""op_id":2,"op":"PUT","type":[],"id":"a""#), message: "data[1]: type must be"),
        Wrong(json: entry(#""op_id":2,"op":"PUT","id":"a""#), message: "data[1]: type must be"),
        Wrong(json: entry(#""op_id":2,"op":"PUT","type":"t","id":5"#), message: "data[1]: id must be a string"),
        Wrong(json: entry(#""op_id":2,"op":"PUT","type":"t","id":"a","tx_id":"1""#), message: "data[1]: tx_id"),
        Wrong(json: entry(#""op_id":2,"op":"PUT","type":"t","id":"a","data":[]"#), message: "data[1]: data must be"),
        Wrong(json: entry(#""op_id":2,"op":"PUT","type":"t","id":"a","data":"{}""#), message: "data[1]: data must be"),
        Wrong(json: entry(#""op_id":2,"op":"PUT","type":"t","id":"a","old":true"#), message: "data[1]: old must be"),
        Wrong(json: entry(#""op_id":2,"op":"PUT","type":"t","id":"a","metadata":{}"#), message: "data[1]: metadata"),
        Wrong(json: entry(#""op_id":2,"op":"PUT","type":"t","id":"a","data":{"x":1e400}"#), message: "out of range"),
        Wrong(
            json: entry(#""op_id":2,"op":"PUT","type":"t","id":"a","data":{"x":"# + String(repeating: "[", count: 200)),
            message: "nested"
        ),
    ])
    func whatIsNoUploadIsRefusedByName(_ test: Wrong) {
        #expect {
            try UploadRequest(json: test.json.utf8)
        } throws: { ($0 as? UploadFormatError)?.message.contains(test.message) == true }
    }

    @Test func answersComeBackAsTheyWereSent() throws {
        let response = UploadResponse(
            appliedThrough: 7,
            rejections: [
                EntryRejection(operationID: 8, .forbidden, message: "no"),
                EntryRejection(operationID: 9, .init("mine"), status: 409, message: ""),
            ],
            writeCheckpoint: "12"
        )
        #expect(try UploadResponse(json: response.json) == response)
        #expect(
            try UploadResponse(json: UploadResponse(appliedThrough: nil).json) == UploadResponse(appliedThrough: nil)
        )
    }

    @Test(arguments: [
        "", "null", "[]", "<html>", "{}", #"{"applied_through":"7"}"#, #"{"applied_through":1.5}"#,
        #"{"applied_through":1,"rejections":{}}"#, #"{"applied_through":1,"rejections":[1]}"#,
        #"{"applied_through":1,"rejections":[{"op_id":2}]}"#,
        #"{"applied_through":1,"rejections":[{"op_id":"2","status":403}]}"#,
        #"{"applied_through":1,"rejections":[{"op_id":2,"status":403,"message":1}]}"#,
        #"{"applied_through":1,"write_checkpoint":1}"#,
    ])
    func whatIsNoAnswerIsRefused(json: String) {
        #expect(throws: UploadFormatError.self) { try UploadResponse(json: json.utf8) }
    }

    @Test func aRejectionNeedsANumberAndAStatusOnly() throws {
        let response = try UploadResponse(
            json: #"{"applied_through":null,"rejections":[{"op_id":2,"status":403}]}"#.utf8
        )
        #expect(response.rejections == [EntryRejection(operationID: 2, .init("403"), status: 403, message: "")])
    }

    @Test(arguments: [400, 403, 404, 409, 422, 424])
    func clientErrorsAreForEver(status: Int) {
        #expect(EntryRejection(operationID: 1, .constraint, status: status, message: "").isPermanent)
    }

    @Test(arguments: [401, 408, 425, 429, 500, 503, 0])
    func otherStatusesAreForNow(status: Int) {
        #expect(!EntryRejection(operationID: 1, .constraint, status: status, message: "").isPermanent)
    }
}
