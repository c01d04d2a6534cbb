; Tensor memory, TMA and clusters through LLVM's intrinsics, with debug information.
; README.md has the command.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@slot = internal addrspace(3) global i32 undef, align 4
@bar = internal addrspace(3) global [2 x i64] undef, align 8
@names = internal addrspace(1) constant [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @text to ptr), ptr @device], align 8
@text = internal addrspace(1) constant [6 x i8] c"ab\0Ac\22\00", align 1
@half = addrspace(4) constant <2 x half> <half 1.0, half -2.0>, align 4

declare void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3), i32)
declare void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6), i32)
declare void @llvm.nvvm.tcgen05.relinq.alloc.permit.cg1()
declare void @llvm.nvvm.tcgen05.fence.before.thread.sync()
declare void @llvm.nvvm.tcgen05.fence.after.thread.sync()
declare void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3))
declare void @llvm.nvvm.tcgen05.cp.128x256b.cg1(ptr addrspace(6), i64)
declare <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6), i1 immarg)
declare void @llvm.nvvm.tcgen05.wait.ld()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @vprintf(ptr, ptr)

define internal i32 @device(i32 %x, { i32, double } %pair) noinline {
  %a = extractvalue { i32, double } %pair, 0
  %b = extractvalue { i32, double } %pair, 1
  %c = fptosi double %b to i32
  %d = mul i32 %a, %c
  %e = add i32 %d, %x
  ret i32 %e
}

define ptx_kernel void @tensor_memory(ptr addrspace(1) align 16 %out, i64 %desc, ptr byval([16 x i64]) align 64 %map, i32 %n) "nvvm.reqntid"="128" "nvvm.cluster_dim"="2,1,1" "nvvm.maxnreg"="128" {
entry:
  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @slot, i32 64)
  call void @llvm.nvvm.tcgen05.relinq.alloc.permit.cg1()
  call void @llvm.nvvm.tcgen05.fence.before.thread.sync()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @llvm.nvvm.tcgen05.fence.after.thread.sync()
  %raw = load i32, ptr addrspace(3) @slot, align 4
  %tmem = inttoptr i32 %raw to ptr addrspace(6)
  call void @llvm.nvvm.tcgen05.cp.128x256b.cg1(ptr addrspace(6) %tmem, i64 %desc)
  call void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @bar, i32 8))
  %v = call <4 x i32> @llvm.nvvm.tcgen05.ld.32x32b.x4(ptr addrspace(6) %tmem, i1 false)
  call void @llvm.nvvm.tcgen05.wait.ld()
  store <4 x i32> %v, ptr addrspace(1) %out, align 16
  %first = load i64, ptr %map, align 64
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = and i32 %t, 7
  switch i32 %q, label %last [ i32 0, label %zero
                               i32 1, label %one
                               i32 2, label %two
                               i32 3, label %three
                               i32 4, label %four ]
zero:
  %c0 = call i32 @device(i32 %n, { i32, double } { i32 3, double 2.5 })
  br label %last
one:
  %fn = load ptr, ptr addrspacecast (ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @names, i64 8) to ptr)
  %c1 = call i32 %fn(i32 %t, { i32, double } { i32 5, double 1.5 })
  br label %last
two:
  %buffer = alloca { i32, i64 }, align 8
  store i64 %first, ptr %buffer
  %c2 = call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @text to ptr), ptr %buffer)
  br label %last
three:
  %c3 = atomicrmw add ptr addrspace(1) %out, i32 5 syncscope("device") acq_rel
  br label %last
four:
  %h = load <2 x half>, ptr addrspace(4) @half
  %h2 = fadd <2 x half> %h, %h
  %c4 = bitcast <2 x half> %h2 to i32
  br label %last
last:
  %r = phi i32 [ 7, %entry ], [ %c0, %zero ], [ %c1, %one ], [ %c2, %two ], [ %c3, %three ], [ %c4, %four ]
  %o = getelementptr i32, ptr addrspace(1) %out, i32 5
  store volatile i32 %r, ptr addrspace(1) %o
  call void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6) %tmem, i32 64)
  ret void
}
