import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore

@Suite struct InterestIndexTests {
    private static let first = SessionID(rawValue: 1)
    private static let second = SessionID(rawValue: 2)

    @Test func sessionsAreFoundByBucketAndByLookup() {
        var index = InterestIndex()
        index.update(.of(["a", "b"], ["x"]), of: Self.first)
        index.update(.of(["b"]), of: Self.second)
        #expect(index[BucketName("a")] == [Self.first])
        #expect(index[BucketName("b")] == [Self.first, Self.second])
        #expect(index[BucketName("c")].isEmpty)
        #expect(index[ParameterLookup(rawValue: "x")] == [Self.first])
        #expect(index[ParameterLookup(rawValue: "y")].isEmpty)
        #expect(index[Self.second] == .of(["b"]))
    }

    @Test func anUpdateReplacesTheInterest() {
        var index = InterestIndex()
        index.update(.of(["a", "b"], ["x"]), of: Self.first)
        index.update(.of(["b", "c"], ["y"]), of: Self.first)
        #expect(index[BucketName("a")].isEmpty)
        #expect(index[BucketName("b")] == [Self.first])
        #expect(index[BucketName("c")] == [Self.first])
        #expect(index[ParameterLookup(rawValue: "x")].isEmpty)
        #expect(index[ParameterLookup(rawValue: "y")] == [Self.first])
    }

    @Test func nothingIsLeftOfARemovedSession() {
        var index = InterestIndex()
        index.update(.of(["a", "b"], ["x"]), of: Self.first)
        index.update(.of(["b"]), of: Self.second)
        index.remove(Self.first)
        #expect(index[BucketName("b")] == [Self.second])
        index.remove(Self.first)
        index.remove(Self.second)
        #expect(index.isEmpty)
    }
}

extension Interest {
    /// An interest in buckets and lookups with these names.
    static func of(_ buckets: [String], _ lookups: [String] = []) -> Interest {
        Interest(
            buckets: Set(buckets.map { BucketName($0) }),
            lookups: Set(lookups.map { ParameterLookup(rawValue: $0) })
        )
    }
}
