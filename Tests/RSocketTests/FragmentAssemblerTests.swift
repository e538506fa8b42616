import NIOCore
import Testing

@testable import RSocket

@Suite struct FragmentAssemblerTests {
    @Test func aWholePayloadPassesWithoutBeingHeld() throws {
        var assembler = FragmentAssembler(maximumHeldByteCount: 0)
        let payload = try assembler.append(Payload("data", metadata: "m"), on: one, hasMoreFragments: false)
        #expect(payload == Payload("data", metadata: "m"))
        #expect(assembler.heldByteCount == 0)
    }

    @Test func metadataMayBeInFragmentsBeforeTheData() throws {
        var assembler = FragmentAssembler(maximumHeldByteCount: 100)
        let payloads = [
            try assembler.append(Payload("", metadata: "me"), on: one, hasMoreFragments: true),
            try assembler.append(Payload("x", metadata: "other"), on: three, hasMoreFragments: true),
            try assembler.append(Payload("da", metadata: "ta"), on: one, hasMoreFragments: true),
            try assembler.append(Payload(""), on: one, hasMoreFragments: true),
        ]
        #expect(payloads == [nil, nil, nil, nil])
        #expect(assembler.heldByteCount == 12)
        let first = try assembler.append(Payload("ta"), on: one, hasMoreFragments: false)
        #expect(first == Payload("data", metadata: "meta"))
        #expect(!assembler.isAssembling(one))
        let second = try assembler.append(Payload(""), on: three, hasMoreFragments: false)
        #expect(second == Payload("x", metadata: "other"))
        #expect(assembler.heldByteCount == 0)
    }

    @Test func fragmentsUpToTheLimitAreHeld() throws {
        var assembler = FragmentAssembler(maximumHeldByteCount: 4)
        _ = try assembler.append(Payload("1", metadata: "2"), on: one, hasMoreFragments: true)
        _ = try assembler.append(Payload("34"), on: three, hasMoreFragments: true)
        #expect(assembler.heldByteCount == 4)
        _ = try assembler.append(Payload(""), on: three, hasMoreFragments: false)
        // The last fragment counts, too, until the payload is whole.
        let payload = try assembler.append(Payload("56"), on: one, hasMoreFragments: false)
        #expect(payload == Payload("156", metadata: "2"))
        #expect(assembler.heldByteCount == 0)
    }

    /// With a copy of the metadata for each fragment this takes longer than the test may: 3 TB.
    @Test(.timeLimit(.minutes(1))) func metadataIsAppendedInPlace() throws {
        let count = 15 << 20
        var assembler = FragmentAssembler(maximumHeldByteCount: 2 * count)
        let first = Payload(metadata: ByteBuffer(repeating: 7, count: count))
        _ = try assembler.append(first, on: one, hasMoreFragments: true)
        for _ in 0..<200_000 { _ = try assembler.append(Payload("", metadata: "m"), on: one, hasMoreFragments: true) }
        let payload = try assembler.append(Payload(""), on: one, hasMoreFragments: false)
        #expect(payload?.metadata?.readableBytes == count + 200_000)
    }

    @Test func metadataAfterDataIsAnError() throws {
        var assembler = FragmentAssembler(maximumHeldByteCount: 100)
        _ = try assembler.append(Payload("d"), on: one, hasMoreFragments: true)
        do {
            _ = try assembler.append(Payload("d", metadata: "m"), on: one, hasMoreFragments: true)
            Issue.record("was accepted")
        } catch {
            #expect(error == .metadataAfterData(one))
        }
    }

    @Test(arguments: [true, false])
    func theLimitCoversAllStreamsAndTheLastFragment(hasMoreFragments: Bool) throws {
        var assembler = FragmentAssembler(maximumHeldByteCount: 4)
        _ = try assembler.append(Payload("12"), on: one, hasMoreFragments: true)
        _ = try assembler.append(Payload("3"), on: three, hasMoreFragments: true)
        do {
            _ = try assembler.append(Payload("45"), on: three, hasMoreFragments: hasMoreFragments)
            Issue.record("was accepted")
        } catch {
            #expect(error == .tooManyHeldBytes(limit: 4))
        }
        assembler.discard(one)
        #expect(assembler.heldByteCount == 1)
        let payload = try assembler.append(Payload("45"), on: three, hasMoreFragments: false)
        #expect(payload == Payload("345"))
    }
}
