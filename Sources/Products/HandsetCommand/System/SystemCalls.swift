// SPDX-License-Identifier: Apache-2.0
//
// `read` and `write` of the system under names that no method of ours hides.

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@unsafe func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    unsafe read(descriptor, bytes, count)
}

@unsafe func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, bytes, count)
}
