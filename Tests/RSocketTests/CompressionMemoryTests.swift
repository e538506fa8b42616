import NIOCore
import TestSupport
import Testing

@testable import RSocket

/// What zlib takes is given back; it would be a GiB.
@Suite(.serialized, .enabled(if: ProcessMemory.isKnown)) struct CompressionMemoryTests {
    /// Expects that a body leaves little behind, with room for what other tests and sanitizers hold meanwhile.
    private func expectLittleIsLeft(_ body: () throws -> Void) throws {
        let memory = ProcessMemory()
        let before = try memory.own
        try body()
        let growth = try memory.own - before
        #expect(growth < 700 << 20, "\(growth) bytes more")
    }

    @Test func aMessageThatWasCompressedLeavesNothing() throws {
        let message = ByteBuffer(repeating: 0, count: 1_000)
        try expectLittleIsLeft {
            for _ in 0..<12_000 { _ = MessageCompressor.compress(message, windowBits: 15) }
        }
    }

    @Test func aConnectionThatHasEndedLeavesNothing() throws {
        let message = MessageDeflater().deflate(ByteBuffer(repeating: 0, count: 40_000))
        try expectLittleIsLeft {
            for _ in 0..<24_000 { _ = try MessageInflater(keepsWindow: true).inflate(message, limit: 40_000) }
        }
    }
}
