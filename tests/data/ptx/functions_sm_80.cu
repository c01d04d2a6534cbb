// Device functions: printf, recursion, function pointers, virtual calls, structs by value, assertions, heap.
// nvcc -arch=sm_80 -rdc=true -ptx
#include <cassert>
#include <cstdio>

struct Wide {
  double d[3];
  char c;
};
struct alignas(16) Aligned {
  float v[4];
};

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ Wide scale(Wide w, float by) {
  for (double& d : w.d) d *= by;
  return w;
}
__device__ __noinline__ Aligned shuffle(Aligned a, char which) {
  Aligned r = a;
  r.v[which & 3] = a.v[3];
  return r;
}
__device__ __noinline__ void store(float* p, float v) { *p = v; }
__device__ __noinline__ bool odd(short s) { return s & 1; }
extern __device__ float elsewhere(float);
extern __device__ int somewhere;
__device__ __attribute__((weak)) int maybe(int x) { return x + 1; }

using Fn = float (*)(float, int);
__device__ __noinline__ float add(float a, int b) { return a + b; }
__device__ __noinline__ float mul(float a, int b) { return a * b; }
__device__ Fn table[] = {add, mul};
__constant__ Fn constant_table[2] = {mul, add};

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ Square(float s) : side(s) {}
  __device__ __noinline__ float area() const override { return side * side; }
};
struct Circle : Shape {
  float r;
  __device__ Circle(float x) : r(x) {}
  __device__ __noinline__ float area() const override { return 3.14f * r * r; }
};

__global__ void functions(float* out, Wide w, Aligned a, int n) {
  const int i = threadIdx.x;
  assert(n > 0 && "n must be positive");
  w = scale(w, 2.f);
  a = shuffle(a, char(i));
  store(out + i, float(w.d[i % 3]) + a.v[1] + fib(n));
  if (odd(short(i))) printf("thread %d of \"%s\": %f\n\t%c%%\n", i, "functions", out[i], 'x');
  out[i] += table[i & 1](out[i], n) + constant_table[n & 1](1.f, i) + elsewhere(out[i]) + maybe(somewhere);
  Shape* s = i & 1 ? (Shape*)new Square(2.f) : (Shape*)new Circle(1.f);
  out[i] += s->area();
  delete s;
  int local[32];
  for (int k = 0; k < 32; ++k) local[k] = k * n;
  out[i] += local[(n * i) & 31];
}

__global__ void launches(const __grid_constant__ Wide w, double* d) { d[threadIdx.x] = w.d[threadIdx.x % 3]; }
