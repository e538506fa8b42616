import PowerSyncProtocol
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct JSONObjectMergingTests {
    @Test
    func mergingIsSettingOneMemberAfterTheOtherWhateverNamesComeAgain() throws {
        let seed: UInt64 = 0x5eed_22
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            // Both sizes: objects that are searched, and objects with an index; composed and decomposed names differ.
            let nameCount = 1 + generator.number(below: 40)
            func members(_ count: Int) -> [JSONObject.Member] {
                (0..<count).map { number in
                    let name = ["a", "é", "e\u{301}", ""][generator.number(below: 4)]
                    return JSONObject.Member(
                        name: name + "\(generator.number(below: nameCount))",
                        value: .integer(Int64(number))
                    )
                }
            }
            let object = JSONObject(members: members(generator.number(below: 40)))
            let others = members(generator.number(below: 60))
            var expected = object
            for other in others { expected[other.name] = other.value }
            var merged = object
            merged.merge(others)
            #expect(merged == expected)

            var parsed = JSONObject()
            for other in others { parsed[other.name] = other.value }
            #expect(try JSONObject(parsing: JSONObject(members: others).text) == parsed)
        }
    }

    /// 40,000 members are read and merged in a time that grows with their number, not with its square.
    @Test
    func manyMembers() throws {
        let members = (0..<40_000).map { JSONObject.Member(name: "name \($0)", value: .integer(Int64($0))) }
        let again = members.map { JSONObject.Member(name: $0.name, value: .null) }
        var object = try JSONObject(parsing: JSONObject(members: members + again).text)
        #expect(object == JSONObject(members: again))
        object.merge(members)
        #expect(object == JSONObject(members: members))
    }
}
