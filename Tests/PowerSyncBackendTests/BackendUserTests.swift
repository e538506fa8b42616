import PowerSyncBackend
import PowerSyncUpload
import Testing

/// Whose an id is, for what decides about writes.
@Suite struct BackendUserTests {
    @Test(arguments: [
        ("anna", "anna", true), ("anna", "Anna", false), ("anna", nil, false), ("anna", "", false), ("", nil, false),
        ("", "", true), ("Kevin", "\u{212a}evin", false), ("\u{e9}", "e\u{301}", false), ("a;", "a\u{37e}", false),
        ("a", "a\u{0}", false),
    ])
    func idsAreComparedByTheirBytes(_ user: String, _ id: String?, _ isUsers: Bool) {
        #expect(BackendUser(id: user).hasID(id) == isUsers)
        guard let id else { return }
        #expect((BackendUser(id: user) == BackendUser(id: id)) == isUsers)
        #expect((JsonValue.string(user) == .string(id)) == isUsers)
        #expect(
            (JsonValue.array([.object(["owner": .string(user)])]) == .array([.object(["owner": .string(id)])]))
                == isUsers
        )
        #expect(Set([JsonValue.string(user), .string(id)]).count == (isUsers ? 1 : 2))
    }
}
