import Testing

@testable import PowerSyncAttachments

@Suite struct AttachmentRunnerStateMachineTests {
    typealias Machine = AttachmentRunner.StateMachine

    struct Case: Sendable, CustomTestStringConvertible {
        let running: Machine.Parts.RawValue
        let call: Machine.Call
        let ends: Machine.Parts.RawValue
        let begins: Machine.Parts.RawValue

        init(_ running: Machine.Parts, _ call: Machine.Call, ends: Machine.Parts, begins: Machine.Parts = []) {
            (self.running, self.call) = (running.rawValue, call)
            (self.ends, self.begins) = (ends.rawValue, begins.rawValue)
        }

        var testDescription: String { "\(call), running \(running)" }
    }

    static let all: Machine.Parts = [.references, .transfers]

    static let cases: [Case] = [
        Case([], .start, ends: [], begins: all),
        Case([], .stop, ends: []),
        Case([], .close, ends: []),
        Case([], .clear, ends: []),
        Case([], .startTransfers, ends: [], begins: .transfers),
        Case([], .stopTransfers, ends: []),

        Case(all, .start, ends: all, begins: all),
        Case(all, .stop, ends: all),
        Case(all, .close, ends: all),
        Case(all, .clear, ends: .transfers, begins: .transfers),
        Case(all, .startTransfers, ends: .transfers, begins: .transfers),
        Case(all, .stopTransfers, ends: .transfers),

        Case(.transfers, .start, ends: .transfers, begins: all),
        Case(.transfers, .stop, ends: .transfers),
        Case(.transfers, .close, ends: .transfers),
        Case(.transfers, .clear, ends: .transfers),
        Case(.transfers, .startTransfers, ends: .transfers, begins: .transfers),
        Case(.transfers, .stopTransfers, ends: .transfers),

        Case(.references, .start, ends: .references, begins: all),
        Case(.references, .stop, ends: .references),
        Case(.references, .close, ends: .references),
        Case(.references, .clear, ends: [], begins: .transfers),
        Case(.references, .startTransfers, ends: [], begins: .transfers),
        Case(.references, .stopTransfers, ends: []),
    ]

    @Test(arguments: cases)
    func aCallEndsAndBegins(_ `case`: Case) {
        var machine = Machine()
        machine.began(Machine.Parts(rawValue: `case`.running))
        let plan = machine.plan(for: `case`.call)
        #expect(plan?.ends.rawValue == `case`.ends)
        #expect(plan?.begins.rawValue == `case`.begins)
    }

    @Test(arguments: Machine.Call.allCases)
    func nothingBeginsAfterTheEnd(call: Machine.Call) {
        var machine = Machine()
        machine.began(.transfers)
        machine.closed()
        machine.began(Self.all)
        #expect(machine.isClosed)
        #expect(machine.running == [])
        #expect(machine.plan(for: call) == nil)
    }

    @Test func partsEndOneByOne() {
        var machine = Machine()
        machine.began(Self.all)
        machine.ended(.transfers)
        #expect(machine.running == .references)
        machine.began(.transfers)
        #expect(machine.running == Self.all)
        machine.ended(Self.all)
        #expect(machine.running == [])
    }
}
