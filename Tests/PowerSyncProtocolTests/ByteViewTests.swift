import NIOCore
import Testing

@testable import PowerSyncProtocol

/// Bytes that are never read outside of what is there.
@Suite struct ByteViewTests {
    @Test func decimalsConsistOfDigits() {
        for byte in UInt8.min...UInt8.max {
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            for bytes in [[byte], [UInt8(ascii: "1"), byte], [byte, UInt8(ascii: "1")]] {
                let decimal = ByteBuffer(bytes: bytes).withByteView { $0.decimal }
                #expect(decimal == (isDigit ? Int64(String(decoding: bytes, as: UTF8.self)) : nil))
            }
        }
    }

    @Test func theLastByteCanBeRead() {
        ByteBuffer(bytes: [1, 2, 3]).withByteView { view in
            #expect(view[2] == 3)
            #expect(view.littleEndian(at: 1, as: UInt16.self) == 0x0302)
            #expect(view[3..<3].count == 0)
        }
    }

    @Test func aByteBehindTheLastOneStopsTheProgram() async {
        await #expect(processExitsWith: .failure) {
            ByteBuffer(bytes: [1, 2, 3]).withByteView { view in _ = view[3] }
        }
        await #expect(processExitsWith: .failure) {
            ByteBuffer(bytes: [1, 2, 3]).withByteView { view in _ = view.littleEndian(at: 2, as: UInt16.self) }
        }
        await #expect(processExitsWith: .failure) {
            ByteBuffer(bytes: [1, 2, 3]).withByteView { view in _ = view[1..<4] }
        }
    }
}
