import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Identities and checksums as the established service computes them (docs/service.md "Rows and operations").
@Suite struct OperationChecksumTests {
    struct Put: CustomTestStringConvertible {
        var table: String
        var id: String
        var data: String
        var checksum: UInt32
        var testDescription: String { "\(table) \(id) \(data)" }
    }

    @Test(arguments: [
        Put(
            table: "lists",
            id: "l1",
            data: #"{"id":"l1","owner_id":"u1","name":"Groceries"}"#,
            checksum: 3_137_080_632
        ),
        Put(table: "lists", id: "l2", data: #"{"id":"l2","owner_id":"u2","name":"Work"}"#, checksum: 1_204_105_614),
        Put(table: "lists", id: "l3", data: #"{"id":"l3","owner_id":"u1","name":"Garden"}"#, checksum: 412_078_885),
        Put(
            table: "lists",
            id: "l1",
            data: #"{"id":"l1","owner_id":"u2","name":"Groceries"}"#,
            checksum: 644_021_896
        ),
        Put(table: "test", id: "test1", data: #"{"id":"test1","description":"test1"}"#, checksum: 2_871_785_649),
        Put(table: "test", id: "ü", data: #"{"id":"ü","s":"a/b"}"#, checksum: 2_880_895_667),
        Put(table: "t", id: "", data: #"{"x":1}"#, checksum: 1_282_137_332),
    ])
    func putChecksumsAreThoseOfTheSpecification(_ put: Put) {
        #expect(hash(put).checksum == Checksum(put.checksum))
    }

    private func hash(_ put: Put, key: [UInt8] = []) -> ContentHash {
        var hasher = ContentHasher(key: key)
        return hasher.put(table: put.table, id: put.id, data: put.data)
    }

    @Test func theHashOfAContentDependsOnTheKeyOfItsStreamAndIsThatOfTheLastOneOnlyForTheSameBytes() {
        let put = Put(table: "t", id: "1", data: #"{"a":"\u{e9}"}"#, checksum: 0)
        #expect(hash(put, key: [1]) == hash(put, key: [1]))
        #expect(hash(put, key: [1]).keyed != hash(put, key: [2]).keyed)
        var hasher = ContentHasher(key: [1])
        let contents = [
            put, Put(table: "t", id: "1", data: #"{"a":"e\u{301}"}"#, checksum: 0),
            Put(table: "t", id: "2", data: put.data, checksum: 0),
            Put(table: "u", id: "1", data: put.data, checksum: 0),
        ]
        let hashes = contents.flatMap { put in
            (0..<2).map { _ in hasher.put(table: put.table, id: put.id, data: put.data) }
        }
        #expect(Set(hashes).count == contents.count)
        #expect(hashes == contents.flatMap { [hash($0, key: [1]), hash($0, key: [1])] })
    }

    @Test func removeChecksumDependsOnTheSubkey() {
        #expect(Checksum.remove(subkey: "tl/l1".utf8) == Checksum(2_104_077_416))
    }

    @Test func bucketChecksumIsTheSumOfItsOperations() {
        let sum = Checksum(3_137_080_632) + Checksum(412_078_885)
        #expect(sum.rawValue == 3_549_159_517)
        #expect(sum.signed == -745_807_779)
    }

    @Test(arguments: [
        ([("id", SQLValue.text("t1"))], "117ab485-4b42-58a2-ab32-0053a22c3423"),
        ([("id", .text("t2"))], "ec27c691-b47a-5d92-927a-9944feb89eee"),
        ([("id", .text("l1"))], "3bbb5112-c496-51fb-bcdc-6f41c054bc14"),
        ([("id", .text("test1")), ("description", .text("test1a"))], "740ba9f2-8b0f-53e3-bb17-5f38a9616f0e"),
        ([("id", .integer(1))], "e44b92eb-93fa-52fa-b4da-9ccfe1d754fe"),
        ([("tenant", .integer(7)), ("id", .text("x"))], "1b7e4925-e17a-586f-ab69-a76c27ca9ac3"),
    ])
    func replicaIDsAreThoseOfTheSpecification(columns: [(String, SQLValue)], id: String) {
        let columns = columns.map { SourceRow.Column(name: $0.0, value: $0.1) }
        #expect(ReplicaID(columns).description == id)
    }

    @Test func replicaIDSurvivesItsStoredForm() {
        let id = ReplicaID([SourceRow.Column(name: "id", value: .text("t1"))])
        id.withBytes { #expect(ReplicaID(bytes: $0) == id) }
        let short: [UInt8] = [1, 2, 3]
        let padded = short.withUnsafeBytes { ReplicaID(bytes: $0) }
        #expect(padded.description == "01020300-0000-0000-0000-000000000000")
    }

    @Test(arguments: [SQLValue.null, .integer(1), .real(1), .text("1"), .blob([0x31]), .real(.infinity)])
    func everyTypeGivesAnotherReplicaID(_ value: SQLValue) {
        let others: [SQLValue] = [.null, .integer(1), .real(1), .text("1"), .blob([0x31]), .real(.infinity)]
        let id = ReplicaID([SourceRow.Column(name: "id", value: value)])
        for other in others where other != value {
            #expect(ReplicaID([SourceRow.Column(name: "id", value: other)]) != id)
        }
    }
}
