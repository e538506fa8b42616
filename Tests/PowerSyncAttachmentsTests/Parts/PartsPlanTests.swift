import Testing

@testable import PowerSyncAttachments

@Suite struct PartsPlanTests {
    @Test(
        arguments: [(1, [1]), (9, [9]), (10, [10]), (11, [10, 1]), (30, [10, 10, 10]), (31, [10, 10, 10, 1])]
            as [(Int64, [Int64])]
    )
    func dividesAFile(size: Int64, sizes: [Int64]) {
        let plan = PartsPlan(size: size, partSize: 10)
        #expect(plan.count == sizes.count)
        #expect((1...plan.count).map { plan.size(of: $0) } == sizes)
        #expect(plan.missing == Array(1...sizes.count))
    }

    @Test
    func aFileHasAtMostTenThousandParts() {
        let mebibyte: Int64 = 1024 * 1024
        #expect(PartsPlan.partSize(wanted: 5 * mebibyte, for: 50_000 * mebibyte) == 5 * mebibyte)
        #expect(PartsPlan.partSize(wanted: 5 * mebibyte, for: 50_000 * mebibyte + 1) == 6 * mebibyte)
        let large = PartsPlan(size: .max / 2, partSize: PartsPlan.partSize(wanted: 1, for: .max / 2))
        #expect(large.count <= 10_000)
        #expect(PartsPlan(size: .max, partSize: .max - 1).count == 2)
    }

    @Test
    func partsThatTheFileDoesNotHaveDoNotCount() {
        var plan = PartsPlan(size: 25, partSize: 10)
        for (number, size) in [(0, 10), (4, 5), (-1, 10), (1, 9), (3, 10)] as [(Int, Int64)] {
            plan.add(StoredAttachmentPart(number: number, size: size, etag: "x"))
        }
        #expect(plan.missing == [1, 2, 3] && plan.storedBytes == 0)
        plan.add(StoredAttachmentPart(number: 3, size: 5, etag: "x"))
        plan.add(StoredAttachmentPart(number: 1, size: 10, etag: "y"))
        #expect(plan.missing == [2] && plan.storedBytes == 15)
        #expect(plan.parts.map(\.number) == [1, 3])
        // What the storage names twice is what it names last.
        plan.keep([
            StoredAttachmentPart(number: 1, size: 10, etag: "z"),
            StoredAttachmentPart(number: 3, size: 5, etag: "\"x\""),
            StoredAttachmentPart(number: 1, size: 10, etag: "y"),
        ])
        #expect(plan.missing == [2])
        plan.keep([StoredAttachmentPart(number: 3, size: 5, etag: "z")])
        #expect(plan.missing == [1, 2, 3])
    }
}
